/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_PAGEBLOCK_H
#define _MM_ZONE_DEVICE_PAGEBLOCK_H

#include <linux/mmzone.h>
#include <linux/page-isolation.h>

/*
 * The slow path marks each pageblock in __init_zone_device_page(), when it writes
 * the first page of the block. Copied descriptors do not go through there, so the
 * fast path marks the blocks itself.
 */
static inline void zone_device_mark_pageblocks(unsigned long pfn,
					       unsigned long nr)
{
	unsigned long at = ALIGN(pfn, pageblock_nr_pages);

	for (; at < pfn + nr; at += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(at), MIGRATE_MOVABLE);
}

#endif /* _MM_ZONE_DEVICE_PAGEBLOCK_H */
