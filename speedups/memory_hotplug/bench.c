// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads: plug and unplug memory block by block. The image is the memmap of that
 * memory, which move_pfn_range_to_zone() writes. At its start, collect() puts the
 * flags that the zones had after each block.
 *
 * One memory block is also added to an empty zone (memmap) and given to the page
 * allocator (free), alone and one after the other (online).
 *
 * The memmap of a device is mapped (vmemmap), when it lies in memory and shares pages.
 * Its page tables, and the pages that they map, are the image.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "sections.h"
#include "vmemmap.h"

#define PFNS(bytes)	((bytes) / PAGE_SIZE)

enum plug { PLUG, UNPLUG, HOLE, TWO_ZONES, MEMMAP, FREE, ONLINE, VMEMMAP };

struct plug_case {
	enum plug what;
	unsigned long block;	/* pages */
	bool checks;		/* of each page that is freed, as with init_on_alloc */
	unsigned int shift;	/* order of the device's compound pages */
};

static const struct plug_case plug_128m = { PLUG, PFNS(SZ_128M) };
static const struct plug_case plug_2g = { PLUG, PFNS(SZ_2G) };
static const struct plug_case unplug_128m = { UNPLUG, PFNS(SZ_128M) };
static const struct plug_case hole_128m = { HOLE, PFNS(SZ_128M) };
static const struct plug_case zones_128m = { TWO_ZONES, PFNS(SZ_128M) };
static const struct plug_case memmap = { MEMMAP };
static const struct plug_case free = { FREE };
static const struct plug_case online = { ONLINE };
static const struct plug_case hardened = { ONLINE, 0, true };
static const struct plug_case checked = { FREE, 0, true };
static const struct plug_case compound_2m = { VMEMMAP, .shift = 9 };
static const struct plug_case compound_1g = { VMEMMAP, .shift = 18 };

/* Memory for a memmap may have been cleared when it was allocated, or be in no cache. */
#define ONE_BLOCK(what, size)							\
	{ #what "-" #size, "one block, cold", PFNS(SZ_##size), 0,		\
	  HOSTED_FIXED | HOSTED_FLUSHED, &what },				\
	{ #what "-" #size "-warm", "one block, just written", PFNS(SZ_##size), 0,	\
	  HOSTED_FIXED | HOSTED_HOT, &what }

/* The memmap of 64 GiB takes 1 GiB here, so larger plugs run only on request. */
static const struct hosted_case memory_hotplug_cases[] = {
	{ "plug-@-block128M", "one zone", PFNS(SZ_64G), 0, 0, &plug_128m },
	{ "unplug-@-block128M", "from the end", PFNS(SZ_64G), 0, 0, &unplug_128m },
	{ "hole-@-block128M", "a hole in the middle", PFNS(SZ_64G), 0, 0, &hole_128m },
	{ "two-zones-@-block128M", "in turns", PFNS(SZ_64G), 0, 0, &zones_128m },
	{ "vmemmap-@-compound2M", "devdax, tables only", PFNS(SZ_64G), 0, 0, &compound_2m },
	{ "vmemmap-@-compound1G", "devdax, tables only", PFNS(SZ_64G), 0, 0, &compound_1g },
	{ "single-2G", "an empty zone", PFNS(SZ_2G), 0, HOSTED_FIXED, &plug_2g },
	ONE_BLOCK(memmap, 128M),
	ONE_BLOCK(memmap, 2G),
	ONE_BLOCK(free, 128M),
	ONE_BLOCK(free, 2G),
	ONE_BLOCK(checked, 128M),
	ONE_BLOCK(online, 128M),
	ONE_BLOCK(online, 2G),
	ONE_BLOCK(hardened, 128M),
	{ "plug-256G-block128M", "one zone", PFNS(4 * SZ_64G), 0,
	  HOSTED_FIXED | HOSTED_EXTRA_CASE, &plug_128m },
	{ "unplug-256G-block128M", "from the end", PFNS(4 * SZ_64G), 0,
	  HOSTED_FIXED | HOSTED_EXTRA_CASE, &unplug_128m },
	{ "plug-512G-block2G", "one zone", PFNS(8 * SZ_64G), 0,
	  HOSTED_FIXED | HOSTED_EXTRA_CASE, &plug_2g },
};

static const struct hosted_variant memory_hotplug_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "unscanned",	HOSTED_PATCHED },
};

static u8 flags[8192];
static unsigned int nr_flags;
static struct page *memory_hotplug_memmap;

static void memory_hotplug_setup(void *image, unsigned long bytes)
{
	memory_hotplug_memmap = image;
	vmemmap_memory(image, bytes);
	sections_init(image, DIV_ROUND_UP(bytes / sizeof(struct page), PAGES_PER_SECTION));
}

static void keep_flag(const struct zone *zone)
{
	flags[nr_flags++ % sizeof(flags)] = 1 + zone->contiguous;
}

static void plug(enum hosted_side side, struct zone *zone, unsigned long pfn, unsigned long nr)
{
	sections_add(side, zone, pfn, nr);
	keep_flag(zone);
	sections_online(pfn, nr, true);
}

static void unplug(enum hosted_side side, struct zone *zone, unsigned long pfn,
		   unsigned long nr)
{
	sections_online(pfn, nr, false);
	sections_remove(side, zone, pfn, nr);
	keep_flag(zone);
}

static void plug_all(const struct plug_case *p, enum hosted_side side, unsigned long items)
{
	unsigned long at, half = ALIGN_DOWN(items / 2, p->block), nr;
	struct zone *zone = sections_zone(0, ZONE_MOVABLE);

	for (at = 0; at < items; at += nr) {
		nr = min(p->block, items - at);
		if (p->what == HOLE && at == half)
			continue;
		plug(side, zone, FIRST_PFN + at, nr);
	}
}

/* The zones grow in turns, one in each half of the memory. */
static void plug_two(const struct plug_case *p, enum hosted_side side, unsigned long items)
{
	unsigned long half = ALIGN_DOWN(items / 2, p->block), at;

	for (at = 0; at < half; at += p->block) {
		plug(side, sections_zone(0, ZONE_MOVABLE), FIRST_PFN + at, p->block);
		plug(side, sections_zone(1, ZONE_MOVABLE), FIRST_PFN + half + at, p->block);
	}
}

static void memory_hotplug_prepare(const struct hosted_case *c, enum hosted_side side,
				   unsigned long items)
{
	const struct plug_case *p = c->data;
	unsigned long at;

	vmemmap_leave();
	nr_flags = 0;
	if (p->what == VMEMMAP) {
		vmemmap_begin();
		return;
	}
	sections_empty();
	for (at = 0; at < items; at += PAGES_PER_SECTION)
		section_present(FIRST_PFN + at, false);
	if (p->what == UNPLUG)
		plug_all(p, side, items);
	if (p->what == FREE)
		sections_add(side, sections_zone(0, ZONE_MOVABLE), FIRST_PFN, items);
	sections_checks(side, p->checks);
}

static void memory_hotplug_run(const struct hosted_case *c, enum hosted_side side,
			       unsigned long items)
{
	const struct plug_case *p = c->data;
	unsigned long at, nr;

	switch (p->what) {
	case MEMMAP:
	case ONLINE:
		sections_add(side, sections_zone(0, ZONE_MOVABLE), FIRST_PFN, items);
		if (p->what == MEMMAP)
			break;
		fallthrough;
	case FREE:
		sections_free(side, FIRST_PFN, items);
		break;
	case PLUG:
	case HOLE:
		plug_all(p, side, items);
		break;
	case TWO_ZONES:
		plug_two(p, side, items);
		break;
	case VMEMMAP:
		for (at = 0; at < items; at += PAGES_PER_SECTION)
			vmemmap_populate_device(side, FIRST_PFN + at, PAGES_PER_SECTION,
						FIRST_PFN, p->shift, 0);
		break;
	case UNPLUG:
		for (at = items; at; at -= nr) {
			nr = (at - 1) % p->block + 1;
			unplug(side, sections_zone(0, ZONE_MOVABLE), FIRST_PFN + at - nr, nr);
		}
		break;
	}
}

static void memory_hotplug_collect(const struct hosted_case *c, unsigned long items)
{
	memcpy(memory_hotplug_memmap, flags,
	       min3((unsigned long)nr_flags, sizeof(flags), items * sizeof(struct page)));
}

const struct hosted_bench hosted_bench = {
	.speedup	= "memory_hotplug",
	.item		= "page",
	.item_bytes	= sizeof(struct page),
	.item_memory	= PAGE_SIZE,
	.cases		= memory_hotplug_cases,
	.nr_cases	= ARRAY_SIZE(memory_hotplug_cases),
	.variants	= memory_hotplug_variants,
	.nr_variants	= ARRAY_SIZE(memory_hotplug_variants),
	.setup		= memory_hotplug_setup,
	.prepare	= memory_hotplug_prepare,
	.run		= memory_hotplug_run,
	.collect	= memory_hotplug_collect,
	.check		= memory_hotplug_check,
	.fuzz		= memory_hotplug_fuzz,
};
