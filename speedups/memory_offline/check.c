// SPDX-License-Identifier: GPL-2.0-only
/*
 * Memory of some pageblocks, free and in use in random ways, is isolated, scanned and given
 * back. Each result, the memmap, the free lists and pageblocks, and the page that is reported
 * as unmovable must be those of the kernel's own code.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "check.h"
#include "zone.h"

enum {
	BLOCKS		= 8,
	PAGES		= BLOCKS << 9,
	LAYOUTS		= 3000,
};

struct outcome {
	int isolated[2];	/* whole pageblocks, and a range within them */
	int scanned;
	unsigned long found;
	struct memory_state state[2];
	struct page memmap[PAGES];
};

static u32 offline_random;

static u32 below(u32 limit)
{
	offline_random = offline_random * 1664525 + 1013904223;
	return (u32)((u64)offline_random * limit >> 32);
}

/* Lay out memory: @seed says what is where. */
static void lay_out(u32 seed)
{
	static const enum migratetype types[] = { MIGRATE_MOVABLE, MIGRATE_MOVABLE,
						  MIGRATE_UNMOVABLE, MIGRATE_RECLAIMABLE,
#ifdef CONFIG_CMA
						  MIGRATE_CMA,
#endif
	};
	const unsigned long end = FIRST_PFN + PAGES;
	unsigned long pfn;
	unsigned int order, used, uses;

	offline_random = seed;
	memory_begin(below(2) ? ZONE_MOVABLE : ZONE_NORMAL);
	for (pfn = FIRST_PFN; pfn < end; pfn += pageblock_nr_pages)
		memory_block(pfn, types[below(ARRAY_SIZE(types))]);
	used = below(4) ? below(64) : 0;
	/* Most layouts have only pages that don't stop the isolation. */
	uses = below(4) ? 1 : USED_KINDS;
	for (pfn = FIRST_PFN; pfn < end; pfn += 1UL << order) {
		order = min_t(unsigned int, MAX_PAGE_ORDER, __ffs(pfn));
		order -= below(2) ? 0 : below(order + 1);
		if (below(64) < used) {
			order = 0;
			memory_use(pfn, below(uses));
		} else {
			memory_free(pfn, order);
		}
	}
}

static void take(enum hosted_side side, u32 seed, struct outcome *o)
{
	unsigned long start = FIRST_PFN, end, from;

	lay_out(seed);
	memset(o, 0, sizeof(*o));
	/* The boundaries are those of the largest free pages, as memory blocks have them. */
	start += MAX_ORDER_NR_PAGES * below(3);
	end = start + MAX_ORDER_NR_PAGES;
	o->isolated[0] = memory_isolate(side, start, end, below(MEMORY_WHYS));
	from = start + (below(2) ? 0 : below(MAX_ORDER_NR_PAGES));
	if (!o->isolated[0])
		o->scanned = memory_scan(side, from, end, &o->found);
	memory_read(&o->state[0]);
	if (!o->isolated[0])
		memory_undo(side, start, end);
	/* Isolate a part of a pageblock, as the allocation of contiguous memory does. */
	start = FIRST_PFN + below(PAGES / 2);
	o->isolated[1] = memory_isolate(side, start, start + 1 + below(PAGES / 4),
					MEMORY_WHY_OTHER);
	memory_read(&o->state[1]);
	memcpy(o->memmap, pfn_to_page(FIRST_PFN), sizeof(o->memmap));
}

int memory_offline_check(struct hosted_check *check)
{
	static struct outcome *base, *ours;
	static void *memmap;
	u32 n;

	if (!memmap) {
		memmap = hosted_arena(PAGES_PER_SECTION * sizeof(struct page));
		base = hosted_arena(sizeof(*base));
		ours = hosted_arena(sizeof(*ours));
	}
	memory_init(memmap, PAGES);
	for (n = 0; n < LAYOUTS; n++) {
		if (n % check->stride)
			continue;
		take(HOSTED_BASE, n, base);
		take(hosted_checked(check), n, ours);
		check->combinations++;
		check->runs += 2;
		check->bytes += sizeof(*ours);
		if (!memcmp(base, ours, sizeof(*ours)))
			continue;
		hosted_format(check->text, sizeof(check->text),
			      "layout %u: isolation %d and %d, not %d and %d; scan %d at %#lx, not %d at %#lx; reported %#lx, not %#lx",
			      n, ours->isolated[0], ours->isolated[1], base->isolated[0],
			      base->isolated[1], ours->scanned, ours->found, base->scanned,
			      base->found, ours->state[0].reported, base->state[0].reported);
		return -1;
	}
	return 0;
}
