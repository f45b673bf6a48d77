// SPDX-License-Identifier: GPL-2.0-only
/*
 * Write the struct pages of memory that is added, in batches.
 *
 * memmap_init_range() makes all of them alike when memory is added to a zone: offline,
 * with one reference. memmap_fill_pageblock() copies the first struct page of a pageblock
 * to the rest of it. All are identical, but for the list head, which points to itself.
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
 * memmap_fill_pageblock() - copy a struct page to the rest of its pageblock
 * @page: the struct page, as memmap_init_range() wrote it
 * @pfn: its PFN
 * @end_pfn: PFN after the range that is written
 *
 * Write what memmap_init_range() would write. It remains to do so where a struct page
 * holds the address of its page, and while the page_ref_set tracepoint is enabled,
 * because a copied refcount raises no event.
 *
 * Context: any; writes at most one pageblock.
 * Return: the PFN after the last struct page that is complete.
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
