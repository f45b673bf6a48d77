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

#define PAGES_128M	32768UL
#define PAGES_100M	25600UL
#define PAGES_16M	4096UL
#define PAGES_8M	2048UL
#define PAGES_2M	512UL
#define PAGES_1M	256UL
/* Memory for page tables and areas: enough to map 4 million pages. */
#define MEMORY		(256UL << 20)
/* Addresses without an area, for cases that time the mapping only, apart for each CPU. */
#define BARE_ADDRESS(cpu)	(VMALLOC_START + (1UL + (cpu) << 40))

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
 * @other: if set, time two mappings at the same address, each with its end. The second
 *	one has this array of the same size
 * @flush_ns: how long a flush of all TLBs takes, in a case with @other
 * @plugged: the memory was added after boot
 * @fresh: no other pages were mapped at these addresses before, so no table of PTEs is there
 * @used: small pages were mapped there before, which left tables of PTEs
 */
struct vmap_case {
	enum vmap_kind kind;
	bool unmap;
	unsigned int cycles;
	arrays_fn *fill;
	unsigned int shift;
	phys_addr_t phys;
	arrays_fn *other;
	unsigned int flush_ns;
	bool plugged;
	bool fresh;
	bool used;
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

#define CYCLE_TABLE(pattern, regime)					\
	CYCLE_ROW("sgt-cycle-100M-" #pattern, regime, PAGES_100M, 1,	\
		  TABLE, .fill = arrays_##pattern)

#define CYCLE_ARRAY(pattern, regime)					\
	CYCLE_ROW("vmap-cycle-100M-" #pattern, regime, PAGES_100M, 1,	\
		  AREA, .fill = arrays_##pattern)

/*
 * Some CPUs do this at the same time, each with a part of the array, and with areas or
 * addresses of its own. They share the locks and the page tables of init_mm.
 */
#define EACH(cpus, name, regime, pages, times, ...)			\
	{ name "-each-" #cpus "cpu", regime ", " #cpus " CPUs", (pages) * (times), 0, \
	  HOSTED_FIXED | HOSTED_EXTRA_CASE,				\
	  &(const struct vmap_case){ __VA_ARGS__, .cycles = times }, cpus }

#define EACH_ROWS(cpus)							\
	EACH(cpus, "vmap-cycle-128M-scattered", "order 0, 8 times", PAGES_128M, 8, \
	     AREA, .fill = arrays_scattered),				\
	EACH(cpus, "vmap-cycle-128M-order9", "2 MiB blocks, 16 times", PAGES_128M, 16, \
	     AREA, .fill = arrays_order9),				\
	EACH(cpus, "vmap-cycle-page", "one page, 4096 times", cpus, 4096, \
	     AREA, .fill = arrays_scattered),				\
	EACH(cpus, "vmalloc-cycle-16K", "as kernel stacks, 2048 times", 4 * (cpus), 2048, \
	     BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),	\
	EACH(cpus, "vmalloc-cycle-1M", "mapping only, 128 times", PAGES_1M * (cpus), 128, \
	     BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT)

/*
 * Scattered pages leave tables of PTEs, in whose places huge PMD mappings come, and the
 * reverse. Each table that goes away costs a flush of all TLBs.
 */
#define ALTERNATE_ROW(name, what, size, pages, time, ns)			\
	{ name "-alternate-" size "-" time, "orders 0 and 9 in turn, flush of " time, \
	  2 * (pages), 0, HOSTED_FIXED | HOSTED_EXTRA_CASE,		\
	  &(const struct vmap_case){ what, .fill = arrays_scattered,	\
				     .other = arrays_order9, .flush_ns = ns } }

static const struct hosted_case vmap_cases[] = {
	CASES(MAP_ROW)
	CASES(UNMAP_ROW)
	ARRAY(MAP_ROW, far, "order 0, half 64 GB away")
	ARRAY(MAP_ROW, short, "runs of 1 to 3")
	MAP_ROW("vmap", "vunmap", "-plugged", "order 0, added after boot", PAGES_100M, 0,
		AREA, .fill = arrays_scattered, .plugged = true)
	MAP_ROW("vmap", "vunmap", "-order9-fresh", "2 MiB blocks, fresh addresses", PAGES_100M, 0,
		AREA, .fill = arrays_order9, .fresh = true)
	MAP_ROW("vmap", "vunmap", "-order9-used", "2 MiB blocks, used addresses", PAGES_100M, 0,
		AREA, .fill = arrays_order9, .used = true)
	TABLE_ROW(order8, "1 MiB blocks"),
	TABLE_ROW(order9, "2 MiB blocks"),
	TABLE_ROW(mixed, "orders 8, 4, 0"),
	TABLE_ROW(short, "runs of 1 to 3"),
	TABLE_ROW(scattered, "order 0"),
	CYCLE_ARRAY(scattered, "order 0"),
	CYCLE_ARRAY(sections, "order 0, two sections in turn"),
	CYCLE_ARRAY(order0, "runs of 1 to 63"),
	CYCLE_ARRAY(order4, "64 KiB blocks"),
	CYCLE_ARRAY(order8, "1 MiB blocks"),
	CYCLE_ARRAY(order9, "2 MiB blocks"),
	CYCLE_ARRAY(mixed, "orders 8, 4, 0"),
	CYCLE_ARRAY(lowalign, "one run, 64 KiB aligned"),
	CYCLE_ARRAY(swapped, "2 MiB, 2 exchanged"),
	CYCLE_TABLE(order8, "1 MiB blocks"),
	CYCLE_TABLE(order9, "2 MiB blocks"),
	CYCLE_TABLE(mixed, "orders 8, 4, 0"),
	ALTERNATE_ROW("vmap", AREA, "100M", PAGES_100M, "0us", 0),
	ALTERNATE_ROW("vmap", AREA, "100M", PAGES_100M, "2us", 2000),
	ALTERNATE_ROW("vmap", AREA, "100M", PAGES_100M, "8us", 8000),
	ALTERNATE_ROW("vmap", AREA, "2M", PAGES_2M, "8us", 8000),
	ALTERNATE_ROW("sgt", TABLE, "100M", PAGES_100M, "8us", 8000),
	CYCLE_ROW("vmap-cycle-page", "one page, 256 times", 1, 256,
		  AREA, .fill = arrays_scattered),
	CYCLE_ROW("vmap-cycle-2M-late", "2 MiB block after one page, 8 times", 513, 8,
		  AREA, .fill = arrays_late),
	CYCLE_ROW("vmap-cycle-32K-far", "order 0, half 64 GB away, 256 times", 8, 256,
		  AREA, .fill = arrays_far),
	CYCLE_ROW("vmalloc-cycle-16K", "as kernel stacks, 256 times", 4, 256,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-64K", "mapping only, 64 times", 16, 64,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-1M", "mapping only, 16 times", PAGES_1M, 16,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-8M", "mapping only, twice", PAGES_8M, 2,
		  BLOCKS, .fill = arrays_order8, .shift = PAGE_SHIFT),
	CYCLE_ROW("vmalloc-cycle-16M", "mapping only, huge, 64 times", PAGES_16M, 64,
		  BLOCKS, .fill = arrays_order9, .shift = PMD_SHIFT),
	CYCLE_ROW("ioremap-cycle-page", "mapping only, 256 times", 1, 256,
		  DEVICE, .phys = 0xfd000000),
	CYCLE_ROW("ioremap-cycle-1M", "mapping only, 16 times", PAGES_1M, 16,
		  DEVICE, .phys = 0xfd000000),
	CYCLE_ROW("ioremap-cycle-2M-odd", "mapping only, 4 KiB aligned, 8 times", PAGES_2M, 8,
		  DEVICE, .phys = 0xfd001000),
	EACH_ROWS(2),
	EACH_ROWS(4),
	EACH_ROWS(8),
};

static const struct hosted_variant vmap_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "runs",	HOSTED_PATCHED, "runs" },
	{ "pmd",	HOSTED_PATCHED, "pmd" },
	{ "auto",	HOSTED_PATCHED, "auto" },
};

/* The least that a walk over the array must do: read it. */
static void vmap_read_array(void *image, unsigned long bytes);

static int vmap_is_read(const struct hosted_case *c)
{
	const struct vmap_case *work = c->data;

	return work->kind == AREA && !work->unmap && !work->cycles && !work->other;
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
static struct page **vmap_others;	/* the array of @other */
static struct sg_table vmap_table;
static struct sg_table vmap_other_table;	/* the table of @other */
static struct page **vmap_table_pages;	/* the array that base makes from the table */

/* The current contents of vmap_pages and, for TABLE, of vmap_table. */
static struct {
	enum vmap_kind kind;
	arrays_fn *fill;
	unsigned long items;
	u64 seed;
} vmap_filled;

/* Changes from run to run, but not while images are compared. */
static u64 vmap_seed = 1;

/* The current mapping of each CPU; @c is NULL if there is none. */
static struct vmap_mapping {
	const struct vmap_case *c;
	enum hosted_side side;
	unsigned int layout;
	unsigned long addr;
	unsigned long bytes;
	unsigned long last;	/* the address of the last one, from which the image is read */
} __aligned(64) vmap_mapped[HOSTED_CPUS];

/* What some CPUs do at the same time, each with so many items. */
struct vmap_task {
	const struct vmap_case *c;
	enum hosted_side side;
	unsigned long items;
};

static void vmap_setup(void *image, unsigned long bytes)
{
	vmap_image = image;
	vmap_pages = hosted_arena(bytes);
	vmap_others = hosted_arena(bytes);
	vmap_table_pages = hosted_arena(bytes);
	vmap_table.sgl = hosted_arena(bytes / sizeof(u64) * sizeof(struct scatterlist));
	vmap_other_table.sgl = hosted_arena(bytes / sizeof(u64) * sizeof(struct scatterlist));
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

static void vmap_map(const struct vmap_case *c, enum hosted_side side, unsigned int cpu,
		     unsigned long items)
{
	unsigned long addr = BARE_ADDRESS(cpu), bytes = items * PAGE_SIZE;
	struct vmap_mapping *mapping = &vmap_mapped[cpu];
	struct page **pages = vmap_pages + cpu * items;
	int err = 0;

	switch (c->kind) {
	case AREA:
		addr = (unsigned long)HOSTED_CALL(vmap, side, pages, items, VM_MAP,
						  PAGE_KERNEL);
		err = !addr;
		break;
	case BLOCKS:
		err = HOSTED_CALL(__vmap_pages_range_noflush, side, addr, addr + bytes,
				  PAGE_KERNEL, pages, c->shift);
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
	mapping->c = c;
	mapping->side = side;
	mapping->layout = hosted_layout;
	mapping->addr = addr;
	mapping->bytes = bytes;
	mapping->last = addr;
}

static void vmap_unmap(unsigned int cpu)
{
	struct vmap_mapping *old = &vmap_mapped[cpu];
	unsigned long addr = old->addr;

	if (old->c->kind == AREA || old->c->kind == TABLE)
		vunmap_of[old->layout][old->side]((void *)addr);
	else
		vunmap_range_of[old->layout][old->side](addr, addr + old->bytes);
	old->c = NULL;
}

static void vmap_cycle(const struct vmap_case *c, enum hosted_side side, unsigned int cpu,
		       unsigned long items)
{
	unsigned int i;

	for (i = 0; i < c->cycles; i++) {
		vmap_map(c, side, cpu, items / c->cycles);
		vmap_unmap(cpu);
	}
}

static void vmap_alternate(const struct vmap_case *c, enum hosted_side side,
			   unsigned int cpu, unsigned long items)
{
	unsigned int i;

	hosted_flush_takes(c->flush_ns);
	for (i = 0; i < 2; i++) {
		vmap_map(c, side, cpu, items / 2);
		vmap_unmap(cpu);
		HOSTED_CALL(vm_unmap_aliases, side);
		swap(vmap_pages, vmap_others);
		swap(vmap_table, vmap_other_table);
	}
	hosted_flush_takes(0);
}

/* In a case for several CPUs, let each of them do its part. */
static void vmap_on_cpus(const struct hosted_case *c, enum hosted_side side,
			 unsigned long items, void (*run)(unsigned int cpu, void *data))
{
	unsigned int cpus = max(c->cpus, 1U);
	struct vmap_task task = { c->data, side, items / cpus };

	if (cpus > 1)
		hosted_on_cpus(cpus, run, &task);
	else
		run(0, &task);
}

/*
 * In these arrays, chance decides where runs end. If all runs of all rows had the same
 * array, the branch predictor would learn it, and best for the side with most rows.
 */
static bool vmap_is_drawn(arrays_fn *fill)
{
	return fill == arrays_order0 || fill == arrays_swapped;
}

static void vmap_fill(const struct vmap_case *c, unsigned long items)
{
	u64 seed = vmap_is_drawn(c->fill) ? vmap_seed : 1;

	if (vmap_filled.kind == c->kind && vmap_filled.fill == c->fill &&
	    vmap_filled.items == items && vmap_filled.seed == seed)
		return;

	c->fill(vmap_pages, items, seed);
	if (c->other)
		c->other(vmap_others, items, seed);
	if (c->kind == TABLE)
		arrays_table(&vmap_table, vmap_pages, items, NULL);
	if (c->kind == TABLE && c->other)
		arrays_table(&vmap_other_table, vmap_others, items, NULL);
	vmap_filled.kind = c->kind;
	vmap_filled.fill = c->fill;
	vmap_filled.items = items;
	vmap_filled.seed = seed;
}

/* Make the page tables. */
static void vmap_prepare_part(unsigned int cpu, void *data)
{
	const struct vmap_task *task = data;

	if (task->c->other) {
		vmap_alternate(task->c, task->side, cpu, task->items);
	} else if (task->c->cycles) {
		vmap_cycle(task->c, task->side, cpu, task->items);
	} else {
		vmap_map(task->c, task->side, cpu, task->items);
		vmap_unmap(cpu);
	}
}

static void vmap_prepare(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct vmap_case *work = c->data;
	unsigned int cpu;

	if (work->fill)
		vmap_fill(work, items);
	if (work->plugged)
		hosted_plugged_sections();
	else
		hosted_early_sections(1);
	for (cpu = 0; cpu < HOSTED_CPUS; cpu++) {
		if (vmap_mapped[cpu].c)
			vmap_unmap(cpu);
	}
	/* Purge freed areas, so that all areas of this side get the same address. */
	HOSTED_CALL(vm_unmap_aliases, side);
	if (work->fresh || work->used)
		space_drop_tables();
	if (work->used) {
		arrays_scattered(vmap_pages, items, 1);
		vmap_map(work, side, 0, items);
		vmap_unmap(0);
		work->fill(vmap_pages, items, vmap_filled.seed);
	} else {
		vmap_on_cpus(c, side, items, vmap_prepare_part);
	}
	HOSTED_CALL(vm_unmap_aliases, side);
	if (work->unmap)
		vmap_map(work, side, 0, items);
}

/* Only what is timed calls this. The next run gets another array. */
static void vmap_arrange(const struct hosted_case *c, unsigned long items)
{
	vmap_seed++;
}

static void vmap_run_part(unsigned int cpu, void *data)
{
	const struct vmap_task *task = data;

	if (task->c->other)
		vmap_alternate(task->c, task->side, cpu, task->items);
	else if (task->c->cycles)
		vmap_cycle(task->c, task->side, cpu, task->items);
	else if (task->c->unmap)
		vmap_unmap(cpu);
	else
		vmap_map(task->c, task->side, cpu, task->items);
}

static void vmap_run(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	vmap_on_cpus(c, side, items, vmap_run_part);
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
	unsigned long share = items / max(c->cpus, 1U), i;
	enum space_leaf leaf;

	for (i = 0; i < items; i++)
		vmap_image[i] = space_translate(vmap_mapped[i / share].last +
						i % share * PAGE_SIZE, &leaf);
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
	.arrange	= vmap_arrange,
	.run		= vmap_run,
	.collect	= vmap_collect,
	.check		= vmap_check,
	.fuzz		= vmap_fuzz,
};
