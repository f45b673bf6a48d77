// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let the struct pages of memory that was added go online in one pass.
 *
 * __free_pages_core() clears PageOffline and the refcount of each, and then each is
 * checked and cleared again, as those of any pages that are freed. memmap_online() does
 * all of that, and says whether the second pass would find anything.
 */
#include <linux/mm.h>
#include <linux/page_ref.h>

#include "memmap_hotplug.h"
#include "memmap_online_compat.h"

/*
 * Without checks, freeing only clears flags of all struct pages but the first one. Do that
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
 * memmap_online() - let the struct pages of memory that was added be those of free pages
 * @page: the first one
 * @nr_pages: number of struct pages, at least one
 * @check: whether freeing pages checks each of them
 *
 * Clear PageOffline and the refcount. If all else is as memmap_init_range() wrote it,
 * freeing these pages need not look at each of them again: no flag is left to clear, and
 * nothing is left to report.
 *
 * Context: any.
 * Return: @nr_pages, or 0 if the caller must look at each struct page.
 */
unsigned int memmap_online(struct page *page, unsigned int nr_pages, bool check)
{
	const struct page *end = page + nr_pages;
	unsigned long found = 0;

	/* If the caller must write a refcount again, that is one event, not two. */
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
