// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for memmap_init_zone_device(). */
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

#include "hosted.h"
#include "check.h"

/* 100 GB of device memory, as in the posted series. */
#define PFNS_100G	26214400UL
/* 1 GiB of device memory has 16 MiB of memmap. */
#define PFNS_1G		(SZ_1G >> PAGE_SHIFT)
/* Any PFN that starts a section and leaves space for an altmap before it. */
#define FIRST_PFN	0x1000000UL

/* A setting besides the names of the methods. */
#define AUTO_ONE_CPU	"auto" HOSTED_ONE_CPU

struct zone_device_case {
	enum memory_type type;
	unsigned int shift;
	bool altmap;
	bool each;		/* every CPU writes the memmap of a device of its own */
	bool cleared;		/* the allocator has cleared the memmap just before */
	unsigned long chased;	/* if set, what is timed are loads of another CPU from so much */
};

static const struct zone_device_case fsdax = { MEMORY_DEVICE_FS_DAX, 0, true };
static const struct zone_device_case devdax = { MEMORY_DEVICE_GENERIC, 9, true };
static const struct zone_device_case shared = { MEMORY_DEVICE_GENERIC, 9, false };
static const struct zone_device_case private = { MEMORY_DEVICE_PRIVATE, 0, false };
static const struct zone_device_case each = { MEMORY_DEVICE_PRIVATE, 0, false, true };
static const struct zone_device_case cleared = { MEMORY_DEVICE_PRIVATE, .cleared = true };
static const struct zone_device_case chase_cache = { MEMORY_DEVICE_PRIVATE, .chased = SZ_8M };
static const struct zone_device_case chase_memory = { MEMORY_DEVICE_PRIVATE, .chased = SZ_256M };

/*
 * How much slower does another CPU become? It makes as many loads as there are struct pages, and each
 * waits for the one before. The others bind one device after the other until it ends.
 */
#define BESIDE(cpus, where, gib)						\
	{ "beside-" #where "-" #cpus "cpu", "loads from " #where ", the others bind", \
	  (gib) * PFNS_1G, 0, HOSTED_FIXED | HOSTED_NO_FILLS | HOSTED_EXTRA_CASE, \
	  &chase_##where, cpus }

static const struct hosted_case zone_device_cases[] = {
	{ "fsdax",	"cold, altmap",		 PFNS_100G, 0, 0, &fsdax },
	{ "devdax-2M",	"cold, altmap",		 PFNS_100G, 0, 0, &devdax },
	{ "private",	"cold, RAM-backed",	 PFNS_100G, 0, 0, &private },
	/* Without an altmap, 128 struct pages of each compound are written. */
	{ "devdax-2M-ram", "cold, RAM-backed, a quarter written", PFNS_100G, 0,
	  HOSTED_EXTRA_CASE, &shared },
	{ "cold-1G",	"flushed, RAM-backed",	 PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED, &private },
	{ "cold-4G",	"flushed, RAM-backed",	 4 * PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED, &private },
	/* With init_on_alloc=1: test_hmm adds 256 MiB at a time, and a GPU all it has. */
	{ "private-64G-cleared", "just cleared, RAM-backed", 64 * PFNS_1G, 0,
	  HOSTED_FIXED, &cleared },
	{ "private-256M-cleared", "just cleared, hot, RAM-backed", PFNS_1G / 4, 0,
	  HOSTED_FIXED | HOSTED_HOT, &cleared },
	{ "small-hot",	"hot, LLC/4",		 0, 4, HOSTED_HOT, &private },
	{ "small-readback", "hot, LLC/4, read back", 0, 4,
	  HOSTED_HOT | HOSTED_READBACK, &private },
	{ "small-cold",	"flushed, LLC/4",	 0, 4, HOSTED_FLUSHED, &private },
	{ "small-cold-readback", "flushed, LLC/4, read back", 0, 4,
	  HOSTED_FLUSHED | HOSTED_READBACK, &private },
	/* These let the code use so many CPUs. All others let it use one. */
	{ "fsdax-2cpu",	"cold, altmap, 2 CPUs",	 PFNS_100G, 0, 0, &fsdax, 2 },
	{ "devdax-2M-2cpu", "cold, altmap, 2 CPUs", PFNS_100G, 0, HOSTED_EXTRA_CASE,
	  &devdax, 2 },
	{ "fsdax-4cpu",	"cold, altmap, 4 CPUs",	 PFNS_100G, 0, HOSTED_EXTRA_CASE, &fsdax, 4 },
	{ "fsdax-8cpu",	"cold, altmap, 8 CPUs",	 PFNS_100G, 0, HOSTED_EXTRA_CASE, &fsdax, 8 },
	{ "private-2cpu", "cold, RAM-backed, 2 CPUs", PFNS_100G, 0, HOSTED_EXTRA_CASE,
	  &private, 2 },
	/* The first two are too small for a second CPU, and the third is just large enough. */
	{ "small-cold-2cpu", "flushed, LLC/4, 2 CPUs", 0, 4,
	  HOSTED_FLUSHED | HOSTED_EXTRA_CASE, &private, 2 },
	{ "cold-1G-2cpu", "flushed, RAM-backed, 2 CPUs", PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED | HOSTED_EXTRA_CASE, &private, 2 },
	{ "cold-2G-2cpu", "flushed, RAM-backed, 2 CPUs", 2 * PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED | HOSTED_EXTRA_CASE, &private, 2 },
	{ "cold-4G-2cpu", "flushed, RAM-backed, 2 CPUs", 4 * PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED | HOSTED_EXTRA_CASE, &private, 2 },
	/* Two devices at the same time, in base, too. */
	{ "private-each-2cpu", "cold, RAM-backed, 2 devices", PFNS_100G, 0, HOSTED_EXTRA_CASE,
	  &each, 2 },
	/* The first bind of memory that a hypervisor has not backed yet. */
	{ "fsdax-first-2cpu", "new, altmap, 2 CPUs", PFNS_100G, 0,
	  HOSTED_FRESH | HOSTED_EXTRA_CASE, &fsdax, 2 },
	{ "fsdax-first-4cpu", "new, altmap, 4 CPUs", PFNS_100G, 0,
	  HOSTED_FRESH | HOSTED_EXTRA_CASE, &fsdax, 4 },
	BESIDE(2, cache, 64),
	BESIDE(2, memory, 16),
	BESIDE(3, cache, 64),
	BESIDE(3, memory, 16),
	BESIDE(5, cache, 64),
	BESIDE(5, memory, 16),
};

/* How many CPUs may write one memmap. */
static unsigned int zone_device_writers(const struct hosted_case *c)
{
	const struct zone_device_case *dev = c->data;

	if (!c->cpus || dev->each)
		return 1;
	/* The last CPU makes loads. */
	return dev->chased ? c->cpus - 1 : c->cpus;
}

static int zone_device_has_cpus(const struct hosted_case *c)
{
	return zone_device_writers(c) > 1;
}

static const struct hosted_variant zone_device_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "copy",	HOSTED_PATCHED, "copy" },
	{ "movnti",	HOSTED_PATCHED, "movnti" },
	{ "wide",	HOSTED_PATCHED, "wide" },
	{ AUTO_ONE_CPU,	HOSTED_PATCHED, AUTO_ONE_CPU, zone_device_has_cpus },
	{ "auto",	HOSTED_PATCHED, "auto" },
};

/* Their struct pages point here, so each device has the same place in all runs. */
static struct dev_pagemap zone_device_pgmaps[HOSTED_CPUS];

static void zone_device_bind(const struct zone_device_case *dev, enum hosted_side side,
			     unsigned long first, unsigned long items,
			     struct dev_pagemap *pgmap)
{
	unsigned long offset = 0;

	/*
	 * An altmap lies before the memory that it describes, and the function
	 * does not write the altmap's own struct pages. So the range is larger by
	 * the altmap, and @items struct pages remain to be written.
	 */
	if (dev->altmap)
		offset = ALIGN(PFN_UP(items * sizeof(struct page)),
			       PAGES_PER_SECTION);

	memset(pgmap, 0, sizeof(*pgmap));
	pgmap->type = dev->type;
	pgmap->vmemmap_shift = dev->shift;
	pgmap->nr_range = 1;
	pgmap->range.start = PFN_PHYS(first - offset);
	pgmap->range.end = PFN_PHYS(first + items) - 1;
	if (dev->altmap) {
		pgmap->flags = PGMAP_ALTMAP_VALID;
		pgmap->altmap.base_pfn = first - offset;
		pgmap->altmap.free = offset;
	}

	HOSTED_CALL(memmap_init_zone_device, side, hosted_device_zone(0),
		    first - offset, items + offset, pgmap);
}

struct zone_device_devices {
	const struct hosted_case *c;
	enum hosted_side side;
	unsigned long items;
};

/* Write the part of the image that is this CPU's. */
static void zone_device_bind_own(unsigned int cpu, void *data)
{
	const struct zone_device_devices *devices = data;
	unsigned long share = devices->items / devices->c->cpus;
	unsigned long first = cpu * share;
	bool last = cpu + 1 == devices->c->cpus;

	zone_device_bind(devices->c->data, devices->side, FIRST_PFN + first,
			 last ? devices->items - first : share, &zone_device_pgmaps[cpu]);
}

/* Lines of memory, each of which holds the address of the next one. */
static void **zone_device_chain;

/* Arrange lines to a circle in a random order, which no prefetcher can follow. */
static void zone_device_chain_up(unsigned long bytes)
{
	const unsigned long step = SMP_CACHE_BYTES / sizeof(void *);
	unsigned long nr = bytes / SMP_CACHE_BYTES, i, j;
	u64 random = 1;

	for (i = 0; i < nr; i++)
		zone_device_chain[i * step] = &zone_device_chain[i * step];
	while (--i) {
		random = random * 6364136223846793005ULL + 1442695040888963407ULL;
		j = (random >> 33) % i;
		swap(zone_device_chain[i * step], zone_device_chain[j * step]);
	}
}

static void zone_device_load(unsigned long nr)
{
	void **at = zone_device_chain;

	while (nr--)
		at = READ_ONCE(*at);
	asm volatile("" : : "r" (at));
}

static bool zone_device_loaded;

/* Bind devices of 4 GiB one after the other, all of them once at least. */
static void zone_device_bind_beside(unsigned int cpu, void *data)
{
	const struct zone_device_devices *devices = data;
	unsigned long at = 0;

	if (cpu + 1 == devices->c->cpus) {
		zone_device_load(devices->items);
		smp_store_release(&zone_device_loaded, true);
	}
	/* The others are workers, if the code uses any. */
	if (cpu)
		return;

	while (at < devices->items || !smp_load_acquire(&zone_device_loaded)) {
		zone_device_bind(devices->c->data, devices->side,
				 FIRST_PFN + at % devices->items, 4 * PFNS_1G,
				 &zone_device_pgmaps[0]);
		at += 4 * PFNS_1G;
	}
}

static void zone_device_run_beside(const struct hosted_case *c,
				   struct zone_device_devices *devices)
{
	zone_device_loaded = false;
	hosted_on_cpus(c->cpus, zone_device_bind_beside, devices);
}

static void zone_device_load_alone(void *image, unsigned long bytes)
{
	zone_device_load(bytes / sizeof(struct page));
}

static int zone_device_is_beside(const struct hosted_case *c)
{
	const struct zone_device_case *dev = c->data;

	return !!dev->chased;
}

static const struct hosted_limit zone_device_limits[] = {
	{ "nothing beside", zone_device_load_alone, zone_device_is_beside },
};

static void zone_device_run(const struct hosted_case *c, enum hosted_side side,
			    unsigned long items)
{
	const struct zone_device_case *dev = c->data;
	struct zone_device_devices devices = { c, side, items };

	if (dev->chased)
		zone_device_run_beside(c, &devices);
	else if (dev->each)
		hosted_on_cpus(c->cpus, zone_device_bind_own, &devices);
	else
		zone_device_bind(dev, side, FIRST_PFN, items, &zone_device_pgmaps[0]);
}

static void zone_device_setup(void *image, unsigned long bytes)
{
	hosted_memmap_at(image, FIRST_PFN);
}

/* Of the case that runs. */
static unsigned int zone_device_case_cpus = 1;

static void zone_device_begin(const struct hosted_case *c)
{
	const struct zone_device_case *dev = c->data;

	zone_device_case_cpus = zone_device_writers(c);
	hosted_cpus_online(zone_device_case_cpus);

	if (dev->chased && !zone_device_chain)
		zone_device_chain = hosted_arena(SZ_256M);
	if (dev->chased)
		zone_device_chain_up(dev->chased);
}

/*
 * __add_pages() makes the memmap of all sections, and only then is it initialised. With
 * init_on_alloc=1, the allocator clears each page of it, in order.
 */
static void zone_device_arrange(const struct hosted_case *c, unsigned long items)
{
	const struct zone_device_case *dev = c->data;
	char *at = (char *)pfn_to_page(FIRST_PFN);
	char *end = at + items * sizeof(struct page);

	for (; dev->cleared && at < end; at += PAGE_SIZE)
		clear_page(at);
}

static int zone_device_select(const char *setting)
{
	bool one = !strcmp(setting, AUTO_ONE_CPU);

	HOSTED_EXTRA_VARIABLE(zone_device_cpus) = one ? 1 : zone_device_case_cpus;
	return HOSTED_CALL_EXTRA(zone_device_set_method, one ? "auto" : setting);
}

/* A fault or a page table walk reads flags and refcount first. */
static unsigned long zone_device_touch(const void *item)
{
	const unsigned long *word = item;

	return word[0] + word[offsetof(struct page, _refcount) / sizeof(*word)];
}

const struct hosted_bench hosted_bench = {
	.speedup	= "zone_device",
	.item		= "struct page",
	.item_bytes	= sizeof(struct page),
	.item_memory	= PAGE_SIZE,
	.cases		= zone_device_cases,
	.nr_cases	= ARRAY_SIZE(zone_device_cases),
	.variants	= zone_device_variants,
	.nr_variants	= ARRAY_SIZE(zone_device_variants),
	.fills		= true,
	.limits		= zone_device_limits,
	.nr_limits	= ARRAY_SIZE(zone_device_limits),
	.setup		= zone_device_setup,
	.begin		= zone_device_begin,
	.arrange	= zone_device_arrange,
	.select		= zone_device_select,
	.run		= zone_device_run,
	.touch		= zone_device_touch,
	.check		= zone_device_check,
};
