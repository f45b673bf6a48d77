// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads: a memory block is isolated and scanned as offline_pages() does it, with pages
 * that are free, in use, or a few of them in use. The image is the memmap.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "check.h"
#include "zone.h"

#define PFNS(bytes)	((bytes) / PAGE_SIZE)
#define BLOCK		PFNS(SZ_128M)

/* One page in so many is in use, and the others are free; 0 for none, 1 for all. */
struct offline_case {
	unsigned long every;
	enum zone_type type;
	bool scan;		/* after the isolation; else that alone */
};

static const struct offline_case free_whole = { 0, ZONE_MOVABLE, true };
static const struct offline_case mixed = { 512, ZONE_MOVABLE, true };
static const struct offline_case full = { 1, ZONE_MOVABLE, true };
static const struct offline_case isolate = { 0, ZONE_MOVABLE, false };
static const struct offline_case normal = { 0, ZONE_NORMAL, true };

static const struct hosted_case memory_offline_cases[] = {
	{ "offline-@-free", "a movable zone", PFNS(SZ_64G), 0, HOSTED_NO_FILLS, &free_whole },
	{ "offline-@-mixed", "1 page of 512 in use", PFNS(SZ_64G), 0, HOSTED_NO_FILLS, &mixed },
	{ "offline-@-full", "all pages in use", PFNS(SZ_64G), 0, HOSTED_NO_FILLS, &full },
	{ "offline-@-normal", "free, not in a movable zone", PFNS(SZ_64G), 0, HOSTED_NO_FILLS,
	  &normal },
	{ "isolate-@-free", "isolation alone", PFNS(SZ_64G), 0, HOSTED_NO_FILLS, &isolate },
	{ "offline-128M-free", "one block, warm", BLOCK, 0,
	  HOSTED_FIXED | HOSTED_HOT | HOSTED_NO_FILLS, &free_whole },
	{ "offline-128M-full", "one block, warm", BLOCK, 0,
	  HOSTED_FIXED | HOSTED_HOT | HOSTED_NO_FILLS, &full },
};

static const struct hosted_variant memory_offline_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "skipping",	HOSTED_PATCHED },
};

static void memory_offline_setup(void *image, unsigned long bytes)
{
	memory_init(image, bytes / sizeof(struct page));
}

static void memory_offline_prepare(const struct hosted_case *c, enum hosted_side side,
				   unsigned long items)
{
	const struct offline_case *o = c->data;
	const unsigned long end = FIRST_PFN + items;
	unsigned long pfn;
	unsigned int order;

	memory_begin(o->type);
	for (pfn = FIRST_PFN; pfn < end; pfn += pageblock_nr_pages)
		memory_block(pfn, MIGRATE_MOVABLE);
	for (pfn = FIRST_PFN; pfn < end; pfn += 1UL << order) {
		order = min_t(unsigned int, MAX_PAGE_ORDER, __ffs(pfn));
		if (o->every && pfn % o->every == 0) {
			order = 0;
			memory_use(pfn, USED_LRU);
			continue;
		}
		if (o->every)
			order = min_t(unsigned int, order, __ffs(o->every));
		memory_free(pfn, order);
	}
}

static void memory_offline_run(const struct hosted_case *c, enum hosted_side side,
			       unsigned long items)
{
	const struct offline_case *o = c->data;
	unsigned long pfn, found, at;

	for (pfn = FIRST_PFN; pfn < FIRST_PFN + items; pfn += BLOCK) {
		memory_isolate(side, pfn, pfn + BLOCK, MEMORY_WHY_OFFLINE);
		/* Those that are found are migrated, and the scan goes on after them. */
		for (at = pfn; o->scan && at < pfn + BLOCK; at = found + 1)
			if (memory_scan(side, at, pfn + BLOCK, &found))
				break;
	}
}

const struct hosted_bench hosted_bench = {
	.speedup	= "memory_offline",
	.item		= "page",
	.item_bytes	= sizeof(struct page),
	.item_memory	= PAGE_SIZE,
	.cases		= memory_offline_cases,
	.nr_cases	= ARRAY_SIZE(memory_offline_cases),
	.variants	= memory_offline_variants,
	.nr_variants	= ARRAY_SIZE(memory_offline_variants),
	.setup		= memory_offline_setup,
	.prepare	= memory_offline_prepare,
	.run		= memory_offline_run,
	.check		= memory_offline_check,
};
