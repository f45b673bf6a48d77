// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the descriptors (struct pages) of memory that is added, in batches.
 *
 * The kernel writes them twice. memmap_init_range() makes all of them alike when memory
 * is added to a zone: offline, with one reference. When the memory goes online,
 * __free_pages_core() clears both in each descriptor, and then each is checked and
 * cleared again, as those of any pages that are freed.
 *
 * memmap_fill_pageblock() copies the first descriptor of a pageblock to the rest of it.
 * All are identical, but for the list head, which points to itself.
 *
 * memmap_online() does all that is done to a descriptor that goes online in one pass,
 * and says whether the second one would find anything.
 */
#include <linux/array_size.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/pageblock-flags.h>

#include "memmap_hotplug.h"
#include "memmap_hotplug_compat.h"

#define LRU	(offsetof(struct page, lru) / sizeof(unsigned long))

/**
 * memmap_fill_pageblock() - copy a descriptor to the rest of its pageblock
 * @page: the descriptor, as memmap_init_range() wrote it
 * @pfn: its PFN
 * @end_pfn: PFN after the range that is written
 *
 * Write what memmap_init_range() would write. It remains to do so where a descriptor
 * holds the address of its page, and while the page_ref_set tracepoint is enabled,
 * because a copied refcount raises no event.
 *
 * Context: any; writes at most one pageblock.
 * Return: the PFN after the last descriptor that is complete.
 */
unsigned long memmap_fill_pageblock(struct page *page, unsigned long pfn,
				    unsigned long end_pfn)
{
	unsigned long image[sizeof(struct page) / sizeof(unsigned long)];
	const unsigned long next_pfn = min(pageblock_end_pfn(pfn), end_pfn);
	const struct page *end = page + (next_pfn - pfn);
	unsigned int i;

#ifdef WANT_PAGE_VIRTUAL
	return pfn + 1;
#endif
	if (page_ref_tracepoint_active(page_ref_set))
		return pfn + 1;

	/* The compiler keeps the image in registers. */
	unrolled_full
	for (i = 0; i < ARRAY_SIZE(image); i++)
		image[i] = ((unsigned long *)page)[i];

	for (page++; page < end; page++) {
		unsigned long *word = (unsigned long *)page;

		image[LRU] = (unsigned long)&page->lru;
		image[LRU + 1] = (unsigned long)&page->lru;
		unrolled_full
		for (i = 0; i < ARRAY_SIZE(image); i++)
			word[i] = image[i];
	}

	return next_pfn;
}

/*
 * Without checks, freeing only clears flags of all descriptors but the first one. Do that
 * here, too, while their lines are in the cache.
 */
static void memmap_online_unchecked(struct page *page, const struct page *end)
{
	__ClearPageOffline(page);
	set_page_count(page, 0);

	for (page++; page < end; page++) {
		__ClearPageOffline(page);
		set_page_count(page, 0);
		memmap_flags(page) &= ~PAGE_FLAGS_CHECK_AT_PREP;
	}
}

/**
 * memmap_online() - let the descriptors of memory that was added be those of free pages
 * @page: the first one
 * @nr_pages: number of descriptors, at least one
 * @check: whether freeing pages checks each of them
 *
 * Clear PageOffline and the refcount. If all else is as memmap_init_range() wrote it,
 * freeing these pages need not look at each of them again: no flag is left to clear, and
 * nothing is left to report.
 *
 * Context: any.
 * Return: @nr_pages, or 0 if the caller must look at each descriptor.
 */
unsigned int memmap_online(struct page *page, unsigned int nr_pages, bool check)
{
	const struct page *end = page + nr_pages;
	unsigned long found = 0;

	/* If the caller has to write a refcount again, that is one event, not two. */
	if (page_ref_tracepoint_active(page_ref_set))
		return 0;

	if (!check) {
		/* Freeing takes a compound page apart. */
		if (PageCompound(page))
			return 0;
		memmap_online_unchecked(page, end);
		return nr_pages;
	}

	for (; page < end; page++) {
		found |= memmap_flags(page) & PAGE_FLAGS_CHECK_AT_PREP;
		found |= (unsigned long)page->lru.next ^ (unsigned long)&page->lru;
		found |= (unsigned long)page->mapping | page->private;
#ifdef CONFIG_MEMCG
		found |= page->memcg_data;
#endif
		__ClearPageOffline(page);
		set_page_count(page, 0);
	}

	return found ? 0 : nr_pages;
}
