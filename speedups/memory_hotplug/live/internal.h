/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_CONTIGUOUS_LIVE_H
#define _ZONE_CONTIGUOUS_LIVE_H

/*
 * Declarations in mm/ that a build against kernel headers lacks. The build uses this
 * file as mm/zone_contiguous_compat.h and as zone_contiguous_live.h.
 */

#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

void set_zone_contiguous(struct zone *zone);
struct page *__pageblock_pfn_to_page(unsigned long start_pfn,
				     unsigned long end_pfn, struct zone *zone);

/* The kernel's own functions, whether they are replaced or not, and their replacements. */
extern typeof(move_pfn_range_to_zone) live_original_move_pfn_range_to_zone;
extern typeof(move_pfn_range_to_zone) live_move_pfn_range_to_zone;
extern typeof(remove_pfn_range_from_zone) live_original_remove_pfn_range_from_zone;
extern typeof(remove_pfn_range_from_zone) live_remove_pfn_range_from_zone;
extern typeof(set_zone_contiguous) live_original_set_zone_contiguous;
extern typeof(set_zone_contiguous) live_set_zone_contiguous;

#endif /* _ZONE_CONTIGUOUS_LIVE_H */
