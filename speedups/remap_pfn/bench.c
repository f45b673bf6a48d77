// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads: a driver maps memory into a process, as its mmap() does, and the process unmaps
 * it. The image are the PTEs.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/sizes.h>

#include "check.h"
#include "space.h"

#define PAGES(bytes)	((bytes) / PAGE_SIZE)
/* Memory for the page tables of the largest mapping, twice. */
#define MEMORY		SZ_64M
/* Memory of a device. */
#define DEVICE_PFN	0xfd000UL

/**
 * struct remap_case - what is timed
 * @start: address of the mapping
 * @unmap: unmapping, and not mapping
 * @tables: other mappings have left the tables of PTEs that are needed
 * @l1tf: the CPU is affected by L1TF, so x86 may refuse pages
 */
struct remap_case {
	unsigned long start;
	bool unmap;
	bool tables;
	bool l1tf;
};

#define ROW(name, regime, size, flags, ...)				\
	{ name, regime, PAGES(size), 0, (flags) | HOSTED_NO_FILLS,	\
	  &(const struct remap_case){ __VA_ARGS__ } }
#define ROWS(size, regime, bytes, flags, ...)				\
	ROW("mmap-" size, regime, bytes, flags, __VA_ARGS__),		\
	ROW("munmap-" size, regime, bytes, flags, .unmap = true, __VA_ARGS__)
#define SHORT		(HOSTED_FIXED | HOSTED_SHORT)
#define NEIGHBOUR	(SPACE_START + SZ_64K)

static const struct hosted_case remap_pfn_cases[] = {
	ROWS("4K", "beside another mapping", SZ_4K, SHORT, NEIGHBOUR, .tables = true),
	ROWS("64K", "beside another mapping", SZ_64K, SHORT, NEIGHBOUR, .tables = true),
	ROWS("2M", "one new table", SZ_2M, SHORT, SPACE_START),
	ROWS("@", "new tables", 100UL << 20, 0, SPACE_START),
	ROW("mmap-@-tables", "tables exist", 100UL << 20, 0, SPACE_START, .tables = true),
	ROW("mmap-@-l1tf", "a CPU with L1TF", 100UL << 20, 0, SPACE_START, .l1tf = true),
};

static const struct hosted_variant remap_pfn_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "batched",	HOSTED_PATCHED },
};

static u64 *remap_image;
static unsigned long remap_mapped;

static void remap_pfn_setup(void *image, unsigned long bytes)
{
	remap_image = image;
	space_init(MEMORY);
}

static void remap_pfn_begin(const struct hosted_case *c)
{
	const struct remap_case *r = c->data;

	space_l1tf(r->l1tf, true);
}

static void remap(const struct remap_case *r, enum hosted_side side, unsigned long pages)
{
	if (space_remap(side, r->start, DEVICE_PFN, pages << PAGE_SHIFT, PAGE_SHARED))
		hosted_die("the mapping failed");
}

static void remap_pfn_prepare(const struct hosted_case *c, enum hosted_side side,
			      unsigned long items)
{
	const struct remap_case *r = c->data;
	static unsigned long start, bytes;

	if (bytes) {
		space_unmap(side, start, bytes);
		space_drop_tables(start, bytes);
	}
	start = r->start;
	bytes = items << PAGE_SHIFT;
	space_begin(start, bytes);
	if (r->tables || r->unmap)
		remap(r, side, items);
	if (r->tables && !r->unmap)
		space_unmap(side, start, bytes);
}

static void remap_pfn_run(const struct hosted_case *c, enum hosted_side side,
			  unsigned long items)
{
	const struct remap_case *r = c->data;

	if (r->unmap)
		space_unmap(side, r->start, items << PAGE_SHIFT);
	else
		remap(r, side, items);
}

static void remap_pfn_collect(const struct hosted_case *c, unsigned long items)
{
	const struct remap_case *r = c->data;
	unsigned long i;

	for (i = 0; i < items; i++)
		remap_image[i] = space_pte(r->start + (i << PAGE_SHIFT));
}

const struct hosted_bench hosted_bench = {
	.speedup	= "remap_pfn",
	.item		= "page",
	.item_bytes	= sizeof(u64),
	.item_memory	= PAGE_SIZE,
	.cases		= remap_pfn_cases,
	.nr_cases	= ARRAY_SIZE(remap_pfn_cases),
	.variants	= remap_pfn_variants,
	.nr_variants	= ARRAY_SIZE(remap_pfn_variants),
	.setup		= remap_pfn_setup,
	.begin		= remap_pfn_begin,
	.prepare	= remap_pfn_prepare,
	.run		= remap_pfn_run,
	.collect	= remap_pfn_collect,
	.check		= remap_pfn_check,
};
