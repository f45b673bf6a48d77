// SPDX-License-Identifier: GPL-2.0-only
/*
 * zone->contiguous in a kernel that was built without the speed-up.
 *
 * The kernel's functions add memory to a zone and remove it, and call
 * set_zone_contiguous() last. The replacement of that function must know which pages
 * came or went. So the replacements of its two callers keep the range, and do nothing
 * else. mem_hotplug_lock, which the callers hold for writing, protects all of it.
 *
 * What is remembered of a zone is right only while each removal is reported. During a
 * transition, some tasks still run the kernel's own functions, which report nothing. So
 * the kernel scans whole zones until all tasks run the replacements, and again before
 * the first task leaves them. What was remembered earlier is not used after that.
 */

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "live.h"
#include "zone_contiguous_live.h"
#include "zone_contiguous_live_compat.h"

LIVE_ORIGINAL(move_pfn_range_to_zone);
LIVE_ORIGINAL(remove_pfn_range_from_zone);
LIVE_ORIGINAL(set_zone_contiguous);

/* The slow path is the kernel's own function, and not its replacement. */
#define set_zone_contiguous	live_original_set_zone_contiguous
#include "zone_contiguous_tree.h"
#undef set_zone_contiguous

const struct live_count live_counts[] = {
	[LIVE_HOTPLUG_MOVED] = { "move_pfn_range_to_zone", LIVE_DONE, "" },
	[LIVE_HOTPLUG_REMOVED] = { "remove_pfn_range_from_zone", LIVE_DONE, "" },
	[LIVE_HOTPLUG_DONE] = { "set_zone_contiguous", LIVE_DONE, "" },
	[LIVE_HOTPLUG_LEFT_CHANGING] = { "set_zone_contiguous", LIVE_LEFT,
					 "some tasks have not switched yet" },
#ifdef LIVE_STEP_MEMMAP
	[LIVE_MEMMAP_DONE] = { "memmap_init_range", LIVE_DONE, "" },
	[LIVE_MEMMAP_LEFT_SHAPE] = { "memmap_init_range", LIVE_LEFT,
				     "the memmap of a device, or a small range" },
	[LIVE_MEMMAP_LEFT_DIFFERS] = { "memmap_init_range", LIVE_LEFT,
				       "its struct pages differ from each other" },
#endif
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/* Counts the times that all tasks came to run the replacements; 0 if some may not. */
static unsigned long live_period;
/* When what is remembered was learned. */
static unsigned long live_verified_in;

static unsigned long live_start_pfn, live_nr_pages;

void live_settled(void)
{
	static unsigned long periods;

	WRITE_ONCE(live_period, ++periods);
}

void live_leaving(void)
{
	WRITE_ONCE(live_period, 0);
}

/**
 * live_move_pfn_range_to_zone - replacement of move_pfn_range_to_zone()
 * @zone: the zone that gets memory
 * @start_pfn: first page of it
 * @nr_pages: number of pages
 *
 * The other parameters differ between releases, and are passed on.
 */
void live_move_pfn_range_to_zone(struct zone *zone, unsigned long start_pfn,
				 unsigned long nr_pages, LIVE_MOVE_PARAMS)
{
	live_start_pfn = start_pfn;
	live_nr_pages = nr_pages;
	live_counted(LIVE_HOTPLUG_MOVED, nr_pages);
	live_original_move_pfn_range_to_zone(zone, start_pfn, nr_pages,
					     LIVE_MOVE_ARGS);
}

/**
 * live_remove_pfn_range_from_zone - replacement of remove_pfn_range_from_zone()
 * @zone: the zone that loses memory
 * @start_pfn: first page of it
 * @nr_pages: number of pages
 */
void live_remove_pfn_range_from_zone(struct zone *zone, unsigned long start_pfn,
				     unsigned long nr_pages)
{
	live_start_pfn = start_pfn;
	live_nr_pages = nr_pages;
	live_counted(LIVE_HOTPLUG_REMOVED, nr_pages);
	live_original_remove_pfn_range_from_zone(zone, start_pfn, nr_pages);
}

/**
 * live_set_zone_contiguous - replacement of set_zone_contiguous()
 * @zone: the zone that got or lost the range that its caller kept
 */
void live_set_zone_contiguous(struct zone *zone)
{
	const unsigned long period = READ_ONCE(live_period);

	if (!period) {
		live_counted(LIVE_HOTPLUG_LEFT_CHANGING, live_nr_pages);
		live_original_set_zone_contiguous(zone);
		return;
	}

	if (period != live_verified_in) {
		memset(zones_verified, 0, sizeof(zones_verified));
		live_verified_in = period;
	}
	live_counted(LIVE_HOTPLUG_DONE, live_nr_pages);
	update_zone_contiguous(zone, live_start_pfn, live_nr_pages);
	live_stay();
}
