// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workloads for vmap(), vmalloc() and ioremap(), for unmapping, and for both together.
 * Before the timed part, the same side maps and unmaps the same pages once. So the
 * page tables exist already, as they do in a kernel that has been running for a while.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "check.h"
#include "space.h"

#define PAGES_100M	25600UL
#define PAGES_16M	4096UL
#define PAGES_8M	2048UL
#define PAGES_2M	512UL
#define PAGES_1M	256UL
/* Memory for page tables and areas: enough to map 4 million pages. */
#define MEMORY		(256UL << 20)
/* An address without an area, for cases that time the mapping only. */
#define BARE_ADDRESS	(VMALLOC_START + (1UL << 40))

enum vmap_kind { AREA, BLOCKS, DEVICE, TABLE };

/**
 * struct vmap_case - what is mapped, and how
 * @kind: AREA is vmap(), BLOCKS the mapping part of vmalloc(), DEVICE ioremap(), TABLE
 *	vmap_sgt(). Base has no such function. It makes an array for vmap() from the
 *	table, as the system heap does
 * @unmap: time unmapping instead of mapping
 * @cycles: if not 0, time mapping and unmapping together, so often in a row. Short
 *	ones are repeated, because reading the clock takes a part of a microsecond
 * @fill: fills the array of AREA and BLOCKS, and that from which TABLE makes its table
 * @shift: log2 of the size of the blocks of BLOCKS
 * @phys: physical address of DEVICE
 */
struct vmap_case {
	enum vmap_kind kind;
	bool unmap;
	unsigned int cycles;
	arrays_fn *fill;
	unsigned int shift;
	phys_addr_t phys;
};

#define SHORT		(HOSTED_FIXED | HOSTED_SHORT)

#define ARRAY(ROW, pattern, regime)					\
	ROW("vmap", "vunmap", "-" #pattern, regime, PAGES_100M, 0,	\
	    AREA, .fill = arrays_##pattern)

/* Each case once: names of mapping and unmapping, then what both have in common. */
#define CASES(ROW)							\
	ARRAY(ROW, scattered,	"order 0")				\
	ARRAY(ROW, order0,	"runs of 1 to 63")			\
	ARRAY(ROW, order4,	"64 KiB blocks")			\
	ARRAY(ROW, order8,	"1 MiB blocks")				\
	ARRAY(ROW, order9,	"2 MiB blocks")				\
	ARRAY(ROW, mixed,	"orders 8, 4, 0")			\
	ARRAY(ROW, lowalign,	"one run, 64 KiB aligned")		\
	ARRAY(ROW, swapped,	"2 MiB, 2 exchanged")			\
	ROW("vmap", "vunmap", "-page", "one page", 1, SHORT,		\
	    AREA, .fill = arrays_scattered)				\
	ROW("vmalloc", "vfree", "", "mapping only", PAGES_1M, SHORT,	\
	    BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT)		\
	ROW("vmalloc", "vfree", "", "mapping only, huge", PAGES_16M, SHORT, \
	    BLOCKS, .fill = arrays_order9, .shift = PMD_SHIFT)		\
	ROW("ioremap", "iounmap", "", "mapping only", PAGES_1M, SHORT,	\
	    DEVICE, .phys = 0xfd000000)					\
	ROW("ioremap", "iounmap", "-odd", "mapping only, 4 KiB aligned", PAGES_2M, \
	    SHORT, DEVICE, .phys = 0xfd001000)

#define MAP_ROW(mapping, unmapping, suffix, regime, items, flags, ...)	\
	{ mapping "-@" suffix, regime, items, 0, flags,			\
	  &(const struct vmap_case){ __VA_ARGS__ } },
#define UNMAP_ROW(mapping, unmapping, suffix, regime, items, flags, ...) \
	{ unmapping "-@" suffix, regime, items, 0, flags,			\
	  &(const struct vmap_case){ __VA_ARGS__, .unmap = true } },

#define TABLE_ROW(pattern, regime)					\
	{ "sgt-100M-" #pattern, regime, PAGES_100M, 0, SHORT,		\
	  &(const struct vmap_case){ TABLE, .fill = arrays_##pattern } }

/* One or more cycles of @pages pages. The items are pages that were mapped in all cycles. */
#define CYCLE_ROW(name, regime, pages, times, ...)			\
	{ name, regime, (pages) * (times), 0, HOSTED_FIXED,		\
	  &(const struct vmap_case){ __VA_ARGS__, .cycles = times } }

#define CYCLE_ARRAY(pattern, regime)					\
	CYCLE_ROW("vmap-cycle-100M-" #pattern, regime, PAGES_100M, 1,	\
		  AREA, .fill = arrays_##pattern)

static const struct hosted_case vmap_cases[] = {
	CASES(MAP_ROW)
	CASES(UNMAP_ROW)
	TABLE_ROW(order8, "1 MiB blocks"),
	TABLE_ROW(order9, "2 MiB blocks"),
	TABLE_ROW(mixed, "orders 8, 4, 0"),
	CYCLE_ARRAY(scattered, "order 0"),
	CYCLE_ARRAY(sections, "order 0, two sections in turn"),
	CYCLE_ARRAY(order4, "64 KiB blocks"),
	CYCLE_ARRAY(order8, "1 MiB blocks"),
	CYCLE_ARRAY(order9, "2 MiB blocks"),
	CYCLE_ARRAY(mixed, "orders 8, 4, 0"),
	CYCLE_ROW("vmap-cycle-page", "one page, 256 times", 1, 256,
		  AREA, .fill = arrays_scattered),
	CYCLE_ROW("vmalloc-cycle-16K", "as kernel stacks, 256 times", 4, 256,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-64K", "mapping only, 64 times", 16, 64,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-1M", "mapping only, 16 times", PAGES_1M, 16,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-8M", "mapping only, twice", PAGES_8M, 2,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("ioremap-cycle-page", "mapping only, 256 times", 1, 256,
		  DEVICE, .phys = 0xfd000000),
	CYCLE_ROW("ioremap-cycle-1M", "mapping only, 16 times", PAGES_1M, 16,
		  DEVICE, .phys = 0xfd000000),
};

static const struct hosted_variant vmap_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "runs",	HOSTED_PATCHED, "runs" },
	{ "pmd",	HOSTED_PATCHED, "pmd" },
	{ "detect",	HOSTED_PATCHED, "detect" },
	{ "auto",	HOSTED_PATCHED, "auto" },
};

/* The least that a walk over the array must do: read it. */
static void vmap_read_array(void *image, unsigned long bytes);

static int vmap_is_read(const struct hosted_case *c)
{
	const struct vmap_case *work = c->data;

	return work->kind == AREA && !work->unmap && !work->cycles;
}

/* Times an empty function, which shows the cost of reading the clock. */
static void vmap_do_nothing(void *image, unsigned long bytes)
{
}

static int vmap_is_short(const struct hosted_case *c)
{
	const struct vmap_case *work = c->data;

	return work->kind == BLOCKS && work->shift == PMD_SHIFT && !work->unmap;
}

static const struct hosted_limit vmap_limits[] = {
	{ "read the array", vmap_read_array, vmap_is_read },
	{ "nothing", vmap_do_nothing, vmap_is_short },
};

static u64 *vmap_image;
static struct page **vmap_pages;
static struct sg_table vmap_table;
static struct page **vmap_table_pages;	/* the array that base makes from the table */

/* The current contents of vmap_pages and, for TABLE, of vmap_table. */
static struct {
	enum vmap_kind kind;
	arrays_fn *fill;
	unsigned long items;
} vmap_filled;

/* The current mapping; @c is NULL if there is none. */
static struct {
	const struct vmap_case *c;
	enum hosted_side side;
	unsigned int layout;
	unsigned long addr;
	unsigned long bytes;
} vmap_mapped;

/* The address of the last mapping, from which the image is read. */
static unsigned long vmap_address;

static void vmap_setup(void *image, unsigned long bytes)
{
	vmap_image = image;
	vmap_pages = hosted_arena(bytes);
	vmap_table_pages = hosted_arena(bytes);
	vmap_table.sgl = hosted_arena(bytes / sizeof(u64) * sizeof(struct scatterlist));
	space_init(MEMORY);
}

static int vmap_select(const char *setting)
{
	return HOSTED_CALL_EXTRA(vmap_set_method, setting);
}

/* Leaves out the allocation of the array, in favour of base. */
static void *vmap_map_table(enum hosted_side side)
{
	struct page **pages = vmap_table_pages;
	struct sg_page_iter iter;

	if (side == HOSTED_PATCHED)
		return HOSTED_CALL_EXTRA(vmap_sgt, &vmap_table, PAGE_KERNEL);
	for_each_sgtable_page(&vmap_table, &iter, 0)
		*pages++ = sg_page_iter_page(&iter);

	return HOSTED_CALL(vmap, side, vmap_table_pages, pages - vmap_table_pages, VM_MAP,
			   PAGE_KERNEL);
}

static void vmap_map(const struct vmap_case *c, enum hosted_side side, unsigned long items)
{
	unsigned long addr = BARE_ADDRESS, bytes = items * PAGE_SIZE;
	int err = 0;

	switch (c->kind) {
	case AREA:
		addr = (unsigned long)HOSTED_CALL(vmap, side, vmap_pages, items, VM_MAP,
						  PAGE_KERNEL);
		err = !addr;
		break;
	case BLOCKS:
		err = HOSTED_CALL(__vmap_pages_range_noflush, side, addr, addr + bytes,
				  PAGE_KERNEL, vmap_pages, c->shift);
		break;
	case TABLE:
		addr = (unsigned long)vmap_map_table(side);
		err = !addr;
		break;
	case DEVICE:
		err = HOSTED_CALL(vmap_page_range, side, addr, addr + bytes, c->phys,
				  PAGE_KERNEL_IO);
		break;
	}
	if (err)
		hosted_die("the mapping failed");
	vmap_mapped.c = c;
	vmap_mapped.side = side;
	vmap_mapped.layout = hosted_layout;
	vmap_mapped.addr = addr;
	vmap_mapped.bytes = bytes;
	vmap_address = addr;
}

static void vmap_unmap(void)
{
	const struct vmap_case *c = vmap_mapped.c;
	unsigned long addr = vmap_mapped.addr;

	if (c->kind == AREA || c->kind == TABLE)
		vunmap_of[vmap_mapped.layout][vmap_mapped.side]((void *)addr);
	else
		vunmap_range_of[vmap_mapped.layout][vmap_mapped.side](addr,
								      addr + vmap_mapped.bytes);
	vmap_mapped.c = NULL;
}

static void vmap_cycle(const struct vmap_case *c, enum hosted_side side, unsigned long items)
{
	unsigned int i;

	for (i = 0; i < c->cycles; i++) {
		vmap_map(c, side, items / c->cycles);
		vmap_unmap();
	}
}

static void vmap_prepare(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct vmap_case *work = c->data;

	if (work->fill && (vmap_filled.kind != work->kind || vmap_filled.fill != work->fill ||
			   vmap_filled.items != items)) {
		work->fill(vmap_pages, items);
		if (work->kind == TABLE)
			arrays_table(&vmap_table, vmap_pages, items, NULL);
		vmap_filled.kind = work->kind;
		vmap_filled.fill = work->fill;
		vmap_filled.items = items;
	}

	if (vmap_mapped.c)
		vmap_unmap();
	if (work->cycles) {
		vmap_cycle(work, side, items);
	} else {
		vmap_map(work, side, items);
		vmap_unmap();
	}
	/* Purge freed areas, so that the next area gets the same address. */
	HOSTED_CALL(vm_unmap_aliases, side);
	if (work->unmap)
		vmap_map(work, side, items);
}

static void vmap_run(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct vmap_case *work = c->data;

	if (work->cycles)
		vmap_cycle(work, side, items);
	else if (work->unmap)
		vmap_unmap();
	else
		vmap_map(work, side, items);
}

static void vmap_read_array(void *image, unsigned long bytes)
{
	struct page **pages = vmap_pages, **end = vmap_pages + bytes / sizeof(u64);
	unsigned long a = 0, b = 0, c = 0, d = 0;

	/* Unrolled with four sums, so that loads don't wait for each other. */
	for (; pages + 8 <= end; pages += 8) {
		a |= (unsigned long)pages[0];
		b |= (unsigned long)pages[1];
		c |= (unsigned long)pages[2];
		d |= (unsigned long)pages[3];
		a |= (unsigned long)pages[4];
		b |= (unsigned long)pages[5];
		c |= (unsigned long)pages[6];
		d |= (unsigned long)pages[7];
	}
	for (; pages < end; pages++)
		a |= (unsigned long)*pages;
	asm volatile("" : : "r"(a | b | c | d));
}

static void vmap_collect(const struct hosted_case *c, unsigned long items)
{
	enum space_leaf leaf;
	unsigned long i;

	for (i = 0; i < items; i++)
		vmap_image[i] = space_translate(vmap_address + i * PAGE_SIZE, &leaf);
}

const struct hosted_bench hosted_bench = {
	.speedup	= "vmap",
	.item		= "page",
	.item_bytes	= sizeof(u64),
	.item_memory	= PAGE_SIZE,
	.cases		= vmap_cases,
	.nr_cases	= ARRAY_SIZE(vmap_cases),
	.variants	= vmap_variants,
	.nr_variants	= ARRAY_SIZE(vmap_variants),
	.limits		= vmap_limits,
	.nr_limits	= ARRAY_SIZE(vmap_limits),
	.setup		= vmap_setup,
	.select		= vmap_select,
	.prepare	= vmap_prepare,
	.run		= vmap_run,
	.collect	= vmap_collect,
	.check		= vmap_check,
	.fuzz		= vmap_fuzz,
};
