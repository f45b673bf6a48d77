// SPDX-License-Identifier: GPL-2.0-only
// Ask for debugging only whether a page is valid, in mm/vmalloc.c.

/* Only a pointer that is no page is not valid, which is a bug of the caller. */
static __always_inline bool vmap_page_valid(struct page *page)
{
	return !IS_ENABLED(CONFIG_DEBUG_VM) || pfn_valid(page_to_pfn(page));
}
