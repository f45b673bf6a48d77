/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HOTPLUG_LIVE_H
#define _HOTPLUG_LIVE_H

/* Declarations in mm/ that a build against kernel headers lacks. */

#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

#include "hotplug_live_compat.h"

void set_zone_contiguous(struct zone *zone);

/* The kernel's own functions, whether they are replaced or not, and their replacements. */
extern typeof(move_pfn_range_to_zone) live_original_move_pfn_range_to_zone;
extern typeof(move_pfn_range_to_zone) live_move_pfn_range_to_zone;
extern typeof(remove_pfn_range_from_zone) live_original_remove_pfn_range_from_zone;
extern typeof(remove_pfn_range_from_zone) live_remove_pfn_range_from_zone;
extern typeof(set_zone_contiguous) live_original_set_zone_contiguous;
extern typeof(set_zone_contiguous) live_set_zone_contiguous;

#ifdef LIVE_STEP_MEMMAP
void memmap_init_range(unsigned long size, int nid, unsigned long zone,
		       unsigned long start_pfn, unsigned long zone_end_pfn,
		       enum meminit_context context, LIVE_MOVE_PARAMS);
extern typeof(memmap_init_range) live_original_memmap_init_range;
extern typeof(memmap_init_range) live_memmap_init_range;
#endif

enum live_hotplug_counts {
	LIVE_HOTPLUG_MOVED,
	LIVE_HOTPLUG_REMOVED,
	LIVE_HOTPLUG_DONE,
	LIVE_HOTPLUG_LEFT_SCAN,
	LIVE_MEMMAP_DONE,
	LIVE_MEMMAP_LEFT_SHAPE,
	LIVE_MEMMAP_LEFT_DIFFERS,
};

#endif /* _HOTPLUG_LIVE_H */
