// SPDX-License-Identifier: GPL-2.0-only
/*
 * zone->contiguous in a kernel that was built without the speed-up.
 *
 * The kernel's functions add memory to a zone and remove it, and call
 * set_zone_contiguous() last. The replacement of that function must know what happened
 * to the zone. So the replacements of its two callers keep that, and do nothing else.
 * They are on the stack meanwhile, so a task does not switch between them.
 * mem_hotplug_lock, which the callers hold for writing, protects all of it.
 */

#include <linux/kernel.h>

#include "live.h"
#include "hotplug_live.h"

LIVE_ORIGINAL(move_pfn_range_to_zone);
LIVE_ORIGINAL(remove_pfn_range_from_zone);
LIVE_ORIGINAL(set_zone_contiguous);

const struct live_count live_counts[] = {
	[LIVE_HOTPLUG_MOVED] = { "move_pfn_range_to_zone", LIVE_DONE, "" },
	[LIVE_HOTPLUG_REMOVED] = { "remove_pfn_range_from_zone", LIVE_DONE, "" },
	[LIVE_HOTPLUG_DONE] = { "set_zone_contiguous", LIVE_DONE, "" },
	[LIVE_HOTPLUG_LEFT_SCAN] = { "set_zone_contiguous", LIVE_LEFT,
				     "the zone was not contiguous before" },
#ifdef LIVE_STEP_MEMMAP
	[LIVE_MEMMAP_DONE] = { "memmap_init_range", LIVE_DONE, "" },
	[LIVE_MEMMAP_LEFT_SHAPE] = { "memmap_init_range", LIVE_LEFT,
				     "the memmap of a device, or a small range" },
	[LIVE_MEMMAP_LEFT_DIFFERS] = { "memmap_init_range", LIVE_LEFT,
				       "its struct pages differ from each other" },
#endif
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/* What happens to a zone. */
static enum { LIVE_UNKNOWN, LIVE_ADDED, LIVE_REMOVED } live_what;
static unsigned long live_start_pfn, live_nr_pages;
static bool live_was_contiguous;

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
	live_what = LIVE_ADDED;
	live_nr_pages = nr_pages;
	live_counted(LIVE_HOTPLUG_MOVED, nr_pages);
	live_original_move_pfn_range_to_zone(zone, start_pfn, nr_pages,
					     LIVE_MOVE_ARGS);
	live_what = LIVE_UNKNOWN;
}

/**
 * live_remove_pfn_range_from_zone - replacement of remove_pfn_range_from_zone()
 * @zone: the zone that memory is removed from
 * @start_pfn: first page of it
 * @nr_pages: number of pages
 */
void live_remove_pfn_range_from_zone(struct zone *zone, unsigned long start_pfn,
				     unsigned long nr_pages)
{
	live_what = LIVE_REMOVED;
	live_start_pfn = start_pfn;
	live_nr_pages = nr_pages;
	live_was_contiguous = zone->contiguous;
	live_counted(LIVE_HOTPLUG_REMOVED, nr_pages);
	live_original_remove_pfn_range_from_zone(zone, start_pfn, nr_pages);
	live_what = LIVE_UNKNOWN;
}

/* Return whether the flag is right without a scan. It has been cleared. */
static bool live_needs_no_scan(struct zone *zone)
{
	if (live_what == LIVE_ADDED)
		return true;
	if (live_what != LIVE_REMOVED)
		return false;
	if (zone_intersects(zone, live_start_pfn, live_nr_pages))
		return true;
	zone->contiguous = live_was_contiguous;
	return live_was_contiguous;
}

/**
 * live_set_zone_contiguous - replacement of set_zone_contiguous()
 * @zone: the zone that got or lost the range that its caller kept
 */
void live_set_zone_contiguous(struct zone *zone)
{
	if (live_needs_no_scan(zone)) {
		live_counted(LIVE_HOTPLUG_DONE, live_nr_pages);
		return;
	}
	live_counted(LIVE_HOTPLUG_LEFT_SCAN, live_nr_pages);
	live_original_set_zone_contiguous(zone);
}
