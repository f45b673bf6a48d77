// SPDX-License-Identifier: GPL-2.0-only
/*
 * Set zone->contiguous when memory is added or removed, without a scan of the whole
 * zone.
 *
 * set_zone_contiguous() looks at all pageblocks of a zone in ascending order, and
 * stops at the first that is not online or not in the zone. For each memory block
 * that is added or removed, it starts again at the beginning. The code below
 * remembers where the last scan of a zone stopped, and continues from there.
 *
 * This is exact. Whether a pageblock passes depends on three things: its section is
 * online, its subsection exists, and its first and last struct page are in the zone.
 * Pageblocks that are no larger than a subsection only lose one of these shortly
 * before that memory is removed from its zone, which is reported here.
 */
#include <linux/align.h>
#include <linux/array_size.h>
#include <linux/minmax.h>
#include <linux/mmzone.h>
#include <linux/pageblock-flags.h>
#include <linux/sched.h>

#include "zone_contiguous.h"
#include "zone_contiguous_compat.h"

/* All pageblocks of @zone that start before @end_pfn have passed. */
struct zone_verified {
	struct zone *zone;
	unsigned long end_pfn;
};

/*
 * Few zones change their size, so there is no field in struct zone. A zone whose
 * entry is reused is scanned from its beginning the next time.
 */
static struct zone_verified zones_verified[16];

static struct zone_verified *zone_verified_of(struct zone *zone)
{
	static unsigned int oldest;
	struct zone_verified *verified;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(zones_verified); i++) {
		if (zones_verified[i].zone == zone)
			return &zones_verified[i];
	}

	verified = &zones_verified[oldest++ % ARRAY_SIZE(zones_verified)];
	verified->zone = zone;
	verified->end_pfn = 0;
	return verified;
}

/**
 * update_zone_contiguous() - set zone->contiguous after memory came or went
 * @zone: the zone; its span has been updated, and its flag cleared
 * @start_pfn: first page that was added to @zone or removed from it
 * @nr_pages: number of these pages
 *
 * Give the flag the value that set_zone_contiguous() would give it. Call this
 * whenever pages are added to @zone or removed from it.
 *
 * Context: Process context, may sleep. The caller holds mem_hotplug_lock for
 * writing, which also protects what is remembered.
 */
void update_zone_contiguous(struct zone *zone, unsigned long start_pfn,
			    unsigned long nr_pages)
{
	const unsigned long end_pfn = zone_end_pfn(zone);
	struct zone_verified *verified;
	unsigned long pfn, next;

	/* A device can take a part of a pageblock that is larger than a subsection. */
	if (pageblock_nr_pages > PAGES_PER_SUBSECTION || zone_is_zone_device(zone)) {
		set_zone_contiguous(zone);
		return;
	}

	/*
	 * Forget what follows the start of the range, unless the range was removed
	 * from the beginning of the zone. A section is offline as a whole, even if
	 * only its second part was removed.
	 */
	verified = zone_verified_of(zone);
	if (start_pfn + nr_pages > zone->zone_start_pfn)
		verified->end_pfn = min(verified->end_pfn, SECTION_ALIGN_DOWN(start_pfn));

	for (pfn = max(zone->zone_start_pfn, verified->end_pfn); pfn < end_pfn; pfn = next) {
		next = min(pageblock_end_pfn(pfn), end_pfn);
		if (!__pageblock_pfn_to_page(pfn, next, zone))
			break;
		cond_resched();
	}

	zone->contiguous = pfn >= end_pfn;
	/* A partial pageblock at the end of the zone changes when the zone grows. */
	verified->end_pfn = ALIGN_DOWN(pfn, pageblock_nr_pages);
}
