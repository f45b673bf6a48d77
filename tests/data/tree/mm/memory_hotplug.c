// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

#include "internal.h"

void move_pfn_range_to_zone(struct zone *zone, unsigned long start_pfn,
			    unsigned long nr_pages, struct toy *toy)
{
	toy_paint(zone, toy);
	memmap_init_range(toy, start_pfn);
	set_zone_contiguous(zone);
}

void remove_pfn_range_from_zone(struct zone *zone, unsigned long start_pfn,
				unsigned long nr_pages)
{
	const unsigned long end_pfn = start_pfn + nr_pages;

	toy_glue(zone, end_pfn);
	set_zone_contiguous(zone);
}

static int scan_movable_pages(unsigned long start, unsigned long end,
			      unsigned long *movable_pfn)
{
	unsigned long pfn;

	for (pfn = start; pfn < end; pfn++) {
		struct page *page;

		page = pfn_to_page(pfn);
		toy_glue(page, pfn);
	}
	return 0;
}
