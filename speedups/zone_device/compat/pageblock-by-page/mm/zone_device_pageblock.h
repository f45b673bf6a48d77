/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_PAGEBLOCK_H
#define _MM_ZONE_DEVICE_PAGEBLOCK_H

#include <linux/mmzone.h>
#include <linux/page-isolation.h>

/*
 * __init_zone_device_page() marks the pageblock of each page that begins one,
 * and nobody does it later. Whoever repeats descriptors has to repeat that.
 */
static inline void zone_device_mark_pageblocks(unsigned long pfn,
					       unsigned long nr)
{
	unsigned long at = ALIGN(pfn, pageblock_nr_pages);

	for (; at < pfn + nr; at += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(at), MIGRATE_MOVABLE);
}

#endif /* _MM_ZONE_DEVICE_PAGEBLOCK_H */
