// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads: boot makes the struct pages of gigantic pages of 1 GiB. As in the kernel, those
 * that HVO keeps are written first, of all pages, and then the others. The image is the memmap.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "check.h"

#define PFNS_1G		(SZ_1G >> PAGE_SHIFT)

HOSTED_ENTRY(gigantic_reserve);
HOSTED_ENTRY(gigantic_begin);
HOSTED_ENTRY(gigantic_end);
HOSTED_ENTRY(memmap_init_zone_device);

struct gigantic_case {
	bool shared;		/* HVO mapped one page for nearly all of the memmap */
	bool device;		/* pages of a device, which has their memmap as well */
	unsigned int order;	/* of its pages */
};

static const struct gigantic_case all = { false };
static const struct gigantic_case shared = { true };
static const struct gigantic_case device = { .device = true, .order = 18 };
static const struct gigantic_case device_2M = { .device = true, .order = 9 };

static const struct hosted_case gigantic_cases[] = {
	{ "boot-@", "cold", 64 * PFNS_1G, 0, 0, &all },
	{ "boot-@-readback", "cold, read back", 64 * PFNS_1G, 0, HOSTED_READBACK, &all },
	{ "boot-1G", "flushed", PFNS_1G, 0, HOSTED_FIXED | HOSTED_FLUSHED, &all },
	{ "boot-1G-readback", "flushed, read back", PFNS_1G, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED | HOSTED_READBACK, &all },
	/* Nothing writes the memmap before, but for debugging (vm_debug=P). */
	{ "boot-1G-hot", "just written", PFNS_1G, 0, HOSTED_FIXED | HOSTED_HOT, &all },
	{ "boot-@-shared", "HVO, 64 struct pages each", 64 * PFNS_1G, 0, HOSTED_NO_FILLS,
	  &shared },
	{ "devdax-1G-@", "cold, altmap", 64 * PFNS_1G, 0, 0, &device },
	{ "devdax-2M-@", "cold, altmap", 64 * PFNS_1G, 0, 0, &device_2M },
	/* The first time that a guest writes memory. */
	{ "boot-@-first", "new memory of the host", 64 * PFNS_1G, 0,
	  HOSTED_FRESH | HOSTED_EXTRA_CASE, &all },
};

static const struct hosted_variant gigantic_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "streaming",	HOSTED_PATCHED },
};

static void gigantic_setup(void *image, unsigned long bytes)
{
	hosted_memmap_at(image, FIRST_PFN);
}

/* A size below 1 GiB is one page of that size. */
static unsigned int order_of(unsigned long items)
{
	return min_t(unsigned int, ilog2(items), ilog2(PFNS_1G));
}

static void gigantic_prepare(const struct hosted_case *c, enum hosted_side side,
			     unsigned long items)
{
	const struct gigantic_case *g = c->data;
	unsigned int order = order_of(items);
	unsigned long i;

	for (i = 0; !g->device && i < items >> order; i++)
		HOSTED_CALL(gigantic_reserve, side, FIRST_PFN + (i << order), ZONE_NORMAL, 0);
}

static void gigantic_bind(const struct gigantic_case *g, enum hosted_side side,
			  unsigned long items)
{
	/* The memmap lies before the memory that it describes, and is not described here. */
	const unsigned long reserved = ALIGN(PFN_UP(items * sizeof(struct page)), PFNS_1G);
	static struct dev_pagemap pgmap;

	memset(&pgmap, 0, sizeof(pgmap));
	pgmap.type = MEMORY_DEVICE_GENERIC;
	pgmap.flags = PGMAP_ALTMAP_VALID;
	pgmap.vmemmap_shift = g->order;
	pgmap.nr_range = 1;
	pgmap.range.start = PFN_PHYS(FIRST_PFN - reserved);
	pgmap.range.end = PFN_PHYS(FIRST_PFN + items) - 1;
	pgmap.altmap.base_pfn = FIRST_PFN - reserved;
	pgmap.altmap.free = reserved;
	HOSTED_CALL(memmap_init_zone_device, side, hosted_device_zone(0), FIRST_PFN - reserved,
		    reserved + items, &pgmap);
}

static void gigantic_run(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct gigantic_case *g = c->data;
	unsigned int order = order_of(items);
	unsigned long i;

	if (g->device) {
		gigantic_bind(g, side, items);
		return;
	}
	for (i = 0; i < items >> order; i++)
		HOSTED_CALL(gigantic_begin, side, FIRST_PFN + (i << order), order, GIGANTIC_KEPT);
	if (g->shared)
		return;
	for (i = 0; i < items >> order; i++)
		HOSTED_CALL(gigantic_end, side, FIRST_PFN + (i << order), order, GIGANTIC_KEPT,
			    1UL << order);
}

/* Whoever looks for pages in the memmap reads flags and refcount first. */
static unsigned long gigantic_touch(const void *item)
{
	const unsigned long *word = item;

	return word[0] + word[offsetof(struct page, _refcount) / sizeof(*word)];
}

const struct hosted_bench hosted_bench = {
	.speedup	= "gigantic",
	.item		= "struct page",
	.item_bytes	= sizeof(struct page),
	.item_memory	= PAGE_SIZE,
	.cases		= gigantic_cases,
	.nr_cases	= ARRAY_SIZE(gigantic_cases),
	.variants	= gigantic_variants,
	.nr_variants	= ARRAY_SIZE(gigantic_variants),
	.fills		= true,
	.setup		= gigantic_setup,
	.prepare	= gigantic_prepare,
	.run		= gigantic_run,
	.touch		= gigantic_touch,
	.check		= gigantic_check,
};
