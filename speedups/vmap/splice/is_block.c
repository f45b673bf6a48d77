// SPDX-License-Identifier: GPL-2.0-only
// Which pages a huge PMD mapping can map, in mm/vmalloc.c.

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

/*
 * Whether a huge PMD mapping can map the pages that come next. If the caller does not know, they
 * must be contiguous and aligned, and there may be no table of PTEs in their way.
 */
static bool vmap_is_block(struct page **pages, pmd_t *pmd, unsigned long addr, unsigned long end,
			  bool known)
{
	if (end - addr < PMD_SIZE || !IS_ALIGNED(addr, PMD_SIZE))
		return false;

	/* Cheap tests first. Most arrays that only begin like a block fail one of them. */
	return known ||
	       (pmd_none(*pmd) && pages[0] && IS_ALIGNED(page_to_pfn(pages[0]), VMAP_PMD_PAGES) &&
		pages[VMAP_PMD_PAGES - 1] == pages[0] + (VMAP_PMD_PAGES - 1) &&
		vmap_run(pages, VMAP_PMD_PAGES) == VMAP_PMD_PAGES &&
		vmap_pages_valid(pages, VMAP_PMD_PAGES));
}
