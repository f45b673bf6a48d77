// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for vmap() and its relatives. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "check.h"

#define PAGES_100M	25600UL
/* Memory that is mapped lies here; it has no descriptors that could be read. */
#define FIRST_PFN	0x1000000UL
#define MEMORY		(256UL << 20)

enum vmap_action { VMAP, VUNMAP };

struct vmap_case {
	enum vmap_action action;
	void (*fill)(struct page **pages, unsigned long nr);
};

static unsigned long vmap_random(unsigned long *state)
{
	*state = *state * 6364136223846793005UL + 1442695040888963407UL;
	return *state >> 33;
}

static void fill_scattered(struct page **pages, unsigned long nr)
{
	unsigned long state = 1, i, j;

	for (i = 0; i < nr; i++)
		pages[i] = pfn_to_page(FIRST_PFN + 2 * i);
	for (i = nr - 1; i; i--) {
		j = vmap_random(&state) % (i + 1);
		swap(pages[i], pages[j]);
	}
}

/* Blocks of 2^@order pages, no two of which follow each other. */
static void fill_blocks(struct page **pages, unsigned long nr, unsigned int order)
{
	unsigned long i, block;

	for (i = 0; i < nr; i++) {
		block = i >> order;
		pages[i] = pfn_to_page(FIRST_PFN + ((2 * block) << order) + i % (1UL << order));
	}
}

static void fill_order8(struct page **pages, unsigned long nr)
{
	fill_blocks(pages, nr, 8);
}

static void fill_order9(struct page **pages, unsigned long nr)
{
	fill_blocks(pages, nr, 9);
}

static const struct vmap_case scattered = { VMAP, fill_scattered };
static const struct vmap_case order8 = { VMAP, fill_order8 };
static const struct vmap_case order9 = { VMAP, fill_order9 };
static const struct vmap_case un_scattered = { VUNMAP, fill_scattered };
static const struct vmap_case un_order9 = { VUNMAP, fill_order9 };

static const struct hosted_case vmap_cases[] = {
	{ "vmap-@-scattered",	"steady, order 0",	PAGES_100M, 0, 0, &scattered },
	{ "vmap-@-order8",	"steady, 1 MiB blocks",	PAGES_100M, 0, 0, &order8 },
	{ "vmap-@-order9",	"steady, 2 MiB blocks",	PAGES_100M, 0, 0, &order9 },
	{ "vunmap-@-scattered",	"steady, order 0",	PAGES_100M, 0, 0, &un_scattered },
	{ "vunmap-@-order9",	"steady, 2 MiB blocks",	PAGES_100M, 0, 0, &un_order9 },
};

static const struct hosted_variant vmap_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "runs",	HOSTED_PATCHED, "runs" },
	{ "pmd",	HOSTED_PATCHED, "pmd" },
	{ "detect",	HOSTED_PATCHED, "detect" },
	{ "auto",	HOSTED_PATCHED, "auto" },
};

static u64 *vmap_image;
static struct page **vmap_pages;
static const struct vmap_case *vmap_filled;
static void *vmap_address;
/* Whose area is mapped; each side of each layout has an address space of its own. */
static enum hosted_side vmap_owner = HOSTED_SIDES;
static unsigned int vmap_owner_layout;

static void vmap_setup(void *image, unsigned long bytes)
{
	unsigned int side;

	vmap_image = image;
	vmap_pages = hosted_arena(bytes);
	hosted_memory_init(MEMORY);
	hosted_early_sections(1);
	for (hosted_layout = 0; hosted_layout < HOSTED_LAYOUTS; hosted_layout++) {
		for (side = 0; side < HOSTED_SIDES; side++)
			HOSTED_CALL(vmalloc_init, side);
	}
}

static int vmap_select(const char *setting)
{
	return HOSTED_CALL_EXTRA(vmap_set_method, setting);
}

static void vmap_map(enum hosted_side side, unsigned long items)
{
	vmap_address = HOSTED_CALL(vmap, side, vmap_pages, items, VM_MAP, PAGE_KERNEL);
	if (!vmap_address)
		hosted_die("vmap() failed");
	vmap_owner = side;
	vmap_owner_layout = hosted_layout;
}

static void vmap_unmap(void)
{
	vunmap_of[vmap_owner_layout][vmap_owner](vmap_address);
	vmap_owner = HOSTED_SIDES;
}

static void vmap_purge(enum hosted_side side)
{
	HOSTED_CALL(vm_unmap_aliases, side);
}

/*
 * What an address is translated to, with its attributes as a PTE has them, and
 * 0 where nothing is mapped: the same whatever leaf it is in.
 */
u64 vmap_translate(unsigned long addr)
{
	pgd_t *pgd = pgd_offset_pgd(init_mm.pgd, addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;

	if (pgd_none(*pgd))
		return 0;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return 0;
	pud = pud_offset(p4d, addr);
	if (pud_none(*pud))
		return 0;
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return 0;
	if (pmd_leaf(*pmd))
		return pmd_pfn(*pmd) * PAGE_SIZE + (addr & ~PMD_MASK) +
		       protval_large_2_4k(pmd_flags(*pmd) & ~_PAGE_PSE);
	return pte_val(*pte_offset_kernel(pmd, addr));
}

static void vmap_run(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct vmap_case *work = c->data;

	if (work->action == VMAP)
		vmap_map(side, items);
	else
		vmap_unmap();
}

static void vmap_prepare(const struct hosted_case *c, enum hosted_side side, unsigned long items)
{
	const struct vmap_case *work = c->data;

	if (vmap_filled != work) {
		work->fill(vmap_pages, items);
		vmap_filled = work;
	}
	if (vmap_owner != HOSTED_SIDES)
		vmap_unmap();
	vmap_map(side, items);
	vmap_unmap();
	vmap_purge(side);
	if (work->action == VUNMAP)
		vmap_map(side, items);
}

static void vmap_collect(const struct hosted_case *c, unsigned long items)
{
	unsigned long i;

	for (i = 0; i < items; i++)
		vmap_image[i] = vmap_translate((unsigned long)vmap_address + i * PAGE_SIZE);
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
	.setup		= vmap_setup,
	.select		= vmap_select,
	.prepare	= vmap_prepare,
	.run		= vmap_run,
	.collect	= vmap_collect,
};
