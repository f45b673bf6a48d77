// SPDX-License-Identifier: GPL-2.0-only
/*
 * The struct pages of hot-added memory in a kernel that was built without the speed-up.
 *
 * The kernel's own function writes the last pageblock of a range, and the first
 * struct page of all others, which is then copied. That the struct pages of a pageblock are
 * alike is not assumed: those of the last one show it for this range, before any copy is
 * made.
 */

#include <linux/align.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pageblock-flags.h>
#include <linux/string.h>

#include "live.h"
#include "hotplug_live.h"

#ifdef LIVE_STEP_MEMMAP
#include "memmap_hotplug.h"

LIVE_ORIGINAL(memmap_init_range);

/* Whether struct pages differ in nothing but their list head, which points to itself. */
static bool live_memmap_alike(const struct page *page, const struct page *end)
{
	struct page image = *page;

	while (++page < end) {
		image.lru.next = (struct list_head *)&page->lru;
		image.lru.prev = (struct list_head *)&page->lru;
		if (memcmp(&image, page, sizeof(image)))
			return false;
	}

	return true;
}

/**
 * live_memmap_init_range - replacement of memmap_init_range()
 * @size: number of pages
 * @nid: node of the memory
 * @zone: index of its zone
 * @start_pfn: its first page
 * @zone_end_pfn: passed on; 0 for memory that is hot-added
 * @context: whether it is
 *
 * The other parameters differ between releases, and are passed on.
 */
void live_memmap_init_range(unsigned long size, int nid, unsigned long zone,
			    unsigned long start_pfn, unsigned long zone_end_pfn,
			    enum meminit_context context, LIVE_MOVE_PARAMS)
{
	const unsigned long end_pfn = start_pfn + size;
	const unsigned long last_pfn = ALIGN_DOWN(end_pfn - 1, pageblock_nr_pages);
	u64 started = local_clock();
	unsigned long pfn;

	if (context != MEMINIT_HOTPLUG || zone == ZONE_DEVICE || last_pfn <= start_pfn ||
	    end_pfn - last_pfn < 2) {
		live_counted(LIVE_MEMMAP_LEFT_SHAPE, size);
		live_original_memmap_init_range(size, nid, zone, start_pfn, zone_end_pfn,
						context, LIVE_MOVE_ARGS);
		return;
	}

	/* This also lets the kernel know the highest page that has a struct page. */
	live_original_memmap_init_range(end_pfn - last_pfn, nid, zone, last_pfn,
					zone_end_pfn, context, LIVE_MOVE_ARGS);
	if (!live_memmap_alike(pfn_to_page(last_pfn), pfn_to_page(end_pfn - 1) + 1)) {
		live_counted(LIVE_MEMMAP_LEFT_DIFFERS, size);
		live_original_memmap_init_range(size, nid, zone, start_pfn, zone_end_pfn,
						context, LIVE_MOVE_ARGS);
		return;
	}

	live_counted(LIVE_MEMMAP_DONE, size);
	for (pfn = start_pfn; pfn < last_pfn;) {
		live_original_memmap_init_range(1, nid, zone, pfn, zone_end_pfn, context,
						LIVE_MOVE_ARGS);
		pfn = memmap_fill_pageblock(pfn_to_page(pfn), pfn, last_pfn);
	}
	live_timed(LIVE_MEMMAP_DONE, started);
	live_stay();
}
#endif
