// SPDX-License-Identifier: GPL-2.0-only
// Takes the place of the #ifdef in set_page_links() in include/linux/mm.h.

	set_page_section_from_pfn(page, pfn);
