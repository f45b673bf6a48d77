/* SPDX-License-Identifier: GPL-2.0-only */
static inline void set_page_links(struct page *page, int toy, unsigned long pfn)
{
	set_page_toy(page, toy);
#ifdef SECTION_IN_PAGE_FLAGS
	set_page_toys(page, pfn);
#endif
}
