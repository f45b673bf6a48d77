// SPDX-License-Identifier: GPL-2.0-only
// Goes in front of set_page_links() in include/linux/mm.h.

static inline void set_page_section_from_pfn(struct page *page,
					     unsigned long pfn)
{
#ifdef SECTION_IN_PAGE_FLAGS
	set_page_section(page, pfn_to_section_nr(pfn));
#endif
}
