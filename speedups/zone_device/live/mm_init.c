// SPDX-License-Identifier: GPL-2.0-only
/*
 * What surrounds the speed-up's code in a livepatch, in place of the kernel's mm/mm_init.c.
 * The build inserts the code here.
 */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/stackdepot.h>
#include "internal.h"

/* The step "comment" replaces this one about the driver page allocator. */

void __ref memmap_init_zone_device(struct zone *zone, unsigned long start_pfn,
				   unsigned long nr_pages, struct dev_pagemap *pgmap);

unsigned long live_zone_device_init(unsigned long start_pfn, unsigned long end_pfn,
				    unsigned long zone_idx, int nid, struct dev_pagemap *pgmap)
{
	return zone_device_memmap_init(start_pfn, end_pfn, zone_idx, nid, pgmap);
}
