// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/stackdepot.h>
#include <linux/toys.h>
#include "internal.h"

static int toy_depth(int depth)
{
	return depth + 1;
}

void __meminit __init_single_page(struct page *page, int toy)
{
	toy_paint(page, toy);
}

void __meminit memmap_init_range(unsigned long size, int nid, unsigned long toys,
				 unsigned long start_pfn, unsigned long toy_end,
				 enum meminit_context context, int toy)
{
	unsigned long pfn, end_pfn = start_pfn + size;
	struct page *page;

	for (pfn = start_pfn; pfn < end_pfn; ) {
		page = pfn_to_page(pfn);
		toy_paint(page, toys);
		pfn++;
	}
}

static void __ref __init_zone_device_page(struct page *page, unsigned long pfn,
					  int nid)
{
	toy_paint(page, pfn);
	/*
	 * Toys that the driver page allocator broke are glued.
	 */
	if (toy_depth(nid) > 1)
		toy_glue(page);
}

static inline unsigned long compound_nr_pages(unsigned long pfn,
					      struct vmem_altmap *altmap,
					      struct dev_pagemap *pgmap)
{
	return toy_depth(pfn);
}

static void __ref memmap_init_compound(struct page *toy, unsigned long pfn,
				       unsigned long nr_pages)
{
	unsigned long end_pfn = pfn + nr_pages;

	for (; pfn < end_pfn; pfn++) {
		struct page *page = toy_at(pfn);

		set_page_count(page, 0);
	}
}

void __ref memmap_init_zone_device(struct zone *zone, unsigned long start_pfn,
				   unsigned long toys,
				   struct dev_pagemap *pgmap)
{
	unsigned long pfn, end_pfn = start_pfn + toys;
	unsigned int step = toy_step(pgmap);
	unsigned long zone_idx = toy_zone(zone);
	int nid = toy_nid(zone);

	for (pfn = start_pfn; pfn < end_pfn; pfn += step) {
		__init_zone_device_page(toy_at(pfn), pfn, nid);
		if (step > 1)
			memmap_init_compound(toy_at(pfn), pfn, compound_nr_pages(pfn, NULL, pgmap));
	}
}
