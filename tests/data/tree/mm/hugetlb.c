// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include "mm_init.h"

static void __init hugetlb_folio_init_tail_vmemmap(struct page *page, unsigned long pfn,
						   unsigned long end_pfn)
{
	for (; pfn < end_pfn; page++, pfn++) {
		__init_single_page(page, 3);
		set_page_count(page, 0);
	}
}
