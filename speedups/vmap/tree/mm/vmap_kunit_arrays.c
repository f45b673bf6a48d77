// SPDX-License-Identifier: GPL-2.0-only
/*
 * vmap() of arrays in many arrangements, by every method: the page table must map each page
 * at its place, with the largest leaf entries that the array allows.
 */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define GROUP	16UL
#define ROUNDS	48
#define PLACES	8

/**
 * struct vmap_shape - an array of pages
 * @name: of the test
 * @nr: number of pages
 * @at: which page of the fixture is page @i of the array
 * @blocks: the least number of huge PMD mappings, if such a mapping has 512 pages
 * @phase: it gets them only at an address in phase with the memory
 * @groups: the least number of contiguous PTE blocks, if such a block has 16 PTEs. It
 *	is 0 for arrays whose area may come from the pool of small areas, at any address
 */
struct vmap_shape {
	const char *name;
	unsigned long nr;
	unsigned long (*at)(unsigned long i);
	unsigned int blocks;
	bool phase;
	unsigned int groups;
};

static unsigned long in_order(unsigned long i)
{
	return i;
}

static unsigned long scattered(unsigned long i)
{
	return i * 389 % VMAP_LOOSE;
}

static unsigned long reversed(unsigned long i)
{
	return BLOCK - 1 - i % BLOCK;
}

static unsigned long doubled(unsigned long i)
{
	return i / 2;
}

static unsigned long twice(unsigned long i)
{
	return i % BLOCK;
}

static unsigned long swapped(unsigned long i)
{
	return i == 100 ? 200 : i == 200 ? 100 : i;
}

static unsigned long halves(unsigned long i)
{
	return i ^ (BLOCK / 2);
}

static unsigned long joined(unsigned long i)
{
	return BLOCK / 2 + i;
}

static unsigned long odd(unsigned long i)
{
	return 7 + i;
}

static unsigned long low(unsigned long i)
{
	return 16 + i;
}

/* The second half of the loose pages fills a huge PMD mapping, at an odd index of the array. */
static unsigned long phased(unsigned long i)
{
	return (16 + i) % VMAP_LOOSE;
}

static unsigned long descending(unsigned long i)
{
	if (i < 512)
		return 512 + i;
	if (i < 768)
		return i - 512;
	return i < 800 ? 256 + (i - 768) : 300 + 2 * (i - 800);
}

static unsigned long ascending(unsigned long i)
{
	if (i < 16)
		return 700 + 2 * i;
	return i < 48 ? 512 + 16 + (i - 16) : i - 48;
}

static unsigned long interrupted(unsigned long i)
{
	return i < 512 ? i : i == 512 ? VMAP_LOOSE + 9 : i - 1;
}

static unsigned long compound(unsigned long i)
{
	return VMAP_LOOSE + i;
}

static unsigned long tails(unsigned long i)
{
	return VMAP_LOOSE + 1 + i;
}

static unsigned long both(unsigned long i)
{
	return VMAP_LOOSE - BLOCK + i;
}

static const struct vmap_shape vmap_shapes[] = {
	{ "one", 1, odd },
	{ "two", 2, odd },
	{ "15 in order", 15, in_order },
	{ "16 in order", 16, in_order },
	{ "17 in order", 17, in_order },
	{ "511 in order", 511, in_order, .groups = 31 },
	{ "512 in order", 512, in_order, 1 },
	{ "513 in order", 513, in_order, 1 },
	{ "1024 in order", 1024, in_order, 2 },
	{ "two scattered", 2, scattered },
	{ "17 scattered", 17, scattered },
	{ "511 scattered", 511, scattered },
	{ "512 scattered", 512, scattered },
	{ "513 scattered", 513, scattered },
	{ "reversed", 1024, reversed },
	{ "each doubled", 1024, doubled },
	{ "twice", 1024, twice, 2 },
	{ "two swapped", 1024, swapped },
	{ "halves exchanged", 512, halves },
	{ "adjacent halves", 512, joined, .groups = 32 },
	{ "from an odd page", 600, odd, .groups = 36, .phase = true },
	{ "from a low alignment", 900, low, .groups = 56 },
	{ "in phase", 1024, phased, 1, true, 32 },
	{ "in phase from an odd page", 1017, odd, 1, true, 31 },
	{ "descending", 820, descending, 1 },
	{ "ascending", 560, ascending },
	{ "interrupted", 1000, interrupted, 1 },
	{ "compound", 512, compound, 1 },
	{ "part of a compound", 300, compound, .groups = 18 },
	{ "tails", 511, tails, .groups = 31, .phase = true },
	{ "two kinds", 1024, both, 2 },
};

/* Small areas of vmap() have PTEs only, even if they happen to be aligned. */
static unsigned int vmap_array_shift(const struct vmap_param *param, unsigned long nr)
{
	return nr < VMAP_POOL_PAGES ? PAGE_SHIFT : vmap_kunit_shift(param, PAGE_KERNEL);
}

static void vmap_check_array(struct kunit *test, const struct vmap_shape *shape)
{
	const struct vmap_param *param = test->param_value;
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = shape->nr,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_array_shift(param, shape->nr),
	};
	bool large = want.max_shift >= PMD_SHIFT && PMD_SIZE == BLOCK * PAGE_SIZE &&
		     (param->phase || !shape->phase) && !vmap_kunit_beside_readers;
	struct vm_struct *area;
	unsigned long i;
	void *addr;
	u8 byte;

	for (i = 0; i < shape->nr; i++)
		memory->pages[i] = vmap_kunit_page(memory, shape->at(i));
	addr = vmap(memory->pages, shape->nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	area = find_vm_area(addr);
	if (!area || get_vm_area_size(area) != shape->nr * PAGE_SIZE)
		KUNIT_FAIL(test, "the area has the wrong size");
	if (copy_from_kernel_nofault(&byte, addr + shape->nr * PAGE_SIZE, 1) != -EFAULT)
		KUNIT_FAIL(test, "the page after the mapping is readable");
	if (vmap_kunit_verify(test, &want)) {
		if (large && want.blocks < shape->blocks)
			KUNIT_FAIL(test, "%u huge PMD mappings, expected %u", want.blocks,
				   shape->blocks);
		if (large && BIT(VMAP_GROUP_SHIFT) == GROUP * PAGE_SIZE &&
		    want.groups < shape->groups)
			KUNIT_FAIL(test, "%u contiguous PTE blocks, expected %u", want.groups,
				   shape->groups);
		vmap_kunit_bytes(test, &want);
	}
	vunmap(addr);
	vmap_kunit_expect_kind(test, want.addr, shape->nr, VMAP_NONE);
}

void vmap_arrays(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmap_shapes); i++) {
		vmap_check_array(test, &vmap_shapes[i]);
		if (READ_ONCE(test->status) == KUNIT_FAILURE) {
			KUNIT_FAIL(test, "array \"%s\"", vmap_shapes[i].name);
			return;
		}
		cond_resched();
	}
}

/*
 * Map with other attributes. The pages are not accessed, because the attributes of
 * their linear map differ.
 */
void vmap_kunit_attribute(struct kunit *test)
{
	const pgprot_t prots[] = {
		pgprot_writecombine(PAGE_KERNEL), pgprot_noncached(PAGE_KERNEL), PAGE_KERNEL_RO,
	};
	struct vmap_memory *memory = test->priv;
	u64 usual = vmap_kunit_attributes(page_to_pfn(memory->loose), pgprot_nx(PAGE_KERNEL));
	unsigned int i;

	vmap_kunit_fill(memory, 0, BLOCK + 40);
	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		struct vmap_want want = {
			.nr = BLOCK + 40,
			.pages = memory->pages,
			.prot = pgprot_nx(prots[i]),
			.max_shift = vmap_kunit_shift(test->param_value, prots[i]),
		};
		void *addr = vmap(memory->pages, want.nr, VM_MAP, prots[i]);

		KUNIT_ASSERT_NOT_NULL(test, addr);
		want.addr = (unsigned long)addr;
		vmap_kunit_verify(test, &want);
		if (IS_ENABLED(CONFIG_X86) || IS_ENABLED(CONFIG_ARM64))
			KUNIT_EXPECT_NE(test, vmap_kunit_leaf(want.addr).attributes, usual);
		vunmap(addr);
	}
}

/* Map at the same addresses again and again, each time with leaf entries of another size. */
void vmap_kunit_reuse(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area = vmap_kunit_area(BLOCK * PAGE_SIZE, VM_MAP);
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long round, i, end;

	KUNIT_ASSERT_NOT_NULL(test, area);
	want.addr = (unsigned long)area->addr;
	end = want.addr + BLOCK * PAGE_SIZE;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < BLOCK; i++) {
			unsigned long at[] = { i, i * 5 + 1, (i ^ 256) + BLOCK };

			memory->pages[i] = vmap_kunit_page(memory, at[round % 3] % VMAP_LOOSE);
		}
		KUNIT_EXPECT_EQ(test, vmap_fill_area(want.addr, end, PAGE_KERNEL, memory->pages,
						     VM_MAP), 0);
		if (vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
		vunmap_range(want.addr, end);
		vmap_kunit_expect_kind(test, want.addr, BLOCK, VMAP_NONE);
		if (READ_ONCE(test->status) == KUNIT_FAILURE)
			break;
		cond_resched();
	}
	free_vm_area(area);
}

/* Map @nr pages across a boundary of the page table, from page @from of the area on. */
static void vmap_map_across(struct kunit *test, struct vm_struct *area, unsigned long from,
			    unsigned long nr)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.addr = (unsigned long)area->addr + from * PAGE_SIZE,
		.nr = nr,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_array_shift(test->param_value, nr),
	};
	unsigned long end = want.addr + nr * PAGE_SIZE;

	KUNIT_EXPECT_EQ(test, vmap_fill_area(want.addr, end, PAGE_KERNEL, memory->pages,
					     VM_MAP), 0);
	if (vmap_kunit_verify(test, &want))
		vmap_kunit_bytes(test, &want);
	vunmap_range(want.addr, end);
	vmap_kunit_expect_kind(test, want.addr, nr, VMAP_NONE);
}

static void vmap_cross(struct kunit *test, unsigned long size)
{
	/* The middle itself may be a boundary of larger tables too; take the next one. */
	unsigned long at = ALIGN_DOWN(VMALLOC_START / 2 + VMALLOC_END / 2, size) + size;
	struct vm_struct *area = NULL;
	unsigned int i;

	if (at <= VMALLOC_START || at >= VMALLOC_END - PLACES * size)
		kunit_skip(test, "vmalloc space has no such boundary");
	for (i = 0; i < PLACES && !area; i++, at += size)
		area = __get_vm_area_node(2 * PMD_SIZE, PMD_SIZE, PAGE_SHIFT,
					  VM_MAP | VM_NO_GUARD, at - PMD_SIZE, at + PMD_SIZE,
					  NUMA_NO_NODE, GFP_KERNEL | __GFP_NOWARN,
					  __builtin_return_address(0));
	KUNIT_ASSERT_NOT_NULL(test, area);
	vmap_map_across(test, area, 0, 2 * BLOCK);
	vmap_map_across(test, area, 3, 2 * BLOCK - 3);
	vmap_map_across(test, area, BLOCK - 16, 40);
	free_vm_area(area);
}

/* A mapping that needs two tables at each level. */
void vmap_kunit_boundary(struct kunit *test)
{
	if (BLOCK * PAGE_SIZE != PMD_SIZE)
		kunit_skip(test, "the test's memory is smaller than a huge PMD mapping");
	vmap_kunit_fill(test->priv, 0, 2 * BLOCK);
	vmap_cross(test, PUD_SIZE);
	vmap_cross(test, P4D_SIZE);
}

/* Whether all memory around a PFN is valid, and a zone or a node ends there. */
static bool vmap_is_border(unsigned long border)
{
	unsigned long pfn;

	if (border < VMAP_LOOSE / 2)
		return false;
	for (pfn = border - VMAP_LOOSE / 2; pfn < border + VMAP_LOOSE / 2; pfn++) {
		if (!pfn_valid(pfn))
			return false;
	}

	return page_zone(pfn_to_page(border - 1)) != page_zone(pfn_to_page(border));
}

/* This memory may be in use, so it is mapped but never accessed. */
static void vmap_map_border(struct kunit *test, unsigned long border, unsigned long before,
			    unsigned long nr)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = nr,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_array_shift(test->param_value, nr),
	};
	unsigned long i;
	void *addr;

	for (i = 0; i < nr; i++)
		memory->pages[i] = pfn_to_page(border - before + i);
	addr = vmap(memory->pages, nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	if (!vmap_kunit_verify(test, &want))
		KUNIT_FAIL(test, "%lu pages, %lu before the border %#lx", nr, before, border);
	vunmap(addr);
	vmap_kunit_expect_kind(test, want.addr, nr, VMAP_NONE);
}

/* A run of contiguous pages does not end where a zone or a node ends. */
void vmap_kunit_border(struct kunit *test)
{
	unsigned int seen = 0;
	struct zone *zone;

	for_each_populated_zone(zone) {
		unsigned long border = zone->zone_start_pfn;

		if (!vmap_is_border(border))
			continue;
		vmap_map_border(test, border, VMAP_LOOSE / 2, VMAP_LOOSE);
		vmap_map_border(test, border, 7, 40);
		vmap_map_border(test, border, 1, 2);
		seen++;
	}
	if (!seen)
		kunit_skip(test, "no two zones have adjacent memory");
}
