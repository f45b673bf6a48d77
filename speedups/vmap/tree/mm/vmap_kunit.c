// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of pages are mapped as they are, by every method, with the leafs that
 * their order allows. All is read back from the page table, and through both
 * mappings.
 */

#include <linux/gfp.h>
#include <linux/init.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define GROUP	16UL

/**
 * struct vmap_shape - an array of pages
 * @name: of the test
 * @nr: pages
 * @at: index in the room of a page of it
 * @blocks: PMD leafs that it has to get, where 512 pages are one
 * @phase: it gets them only at an address in phase with it
 * @groups: the same of groups of 16 PTEs, where there are such; told of arrays
 *	that the pool of small areas does not serve
 */
struct vmap_shape {
	const char *name;
	unsigned long nr;
	unsigned long (*at)(unsigned long i);
	unsigned int blocks;
	bool phase;
	unsigned int groups;
};

/* The first VMAP_LOOSE pages are those that belong to none, then come the others. */
struct page *vmap_kunit_page(const struct vmap_room *room, unsigned long i)
{
	return i < VMAP_LOOSE ? room->loose + i : room->compound + (i - VMAP_LOOSE);
}

void vmap_kunit_fill(struct vmap_room *room, unsigned long first, unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		room->pages[i] = vmap_kunit_page(room, first + i);
}

struct vm_struct *vmap_kunit_area(unsigned long size, unsigned long flags)
{
	return __get_vm_area_node(size, PMD_SIZE, PAGE_SHIFT, flags, VMALLOC_START, VMALLOC_END,
				  NUMA_NO_NODE, GFP_KERNEL, __builtin_return_address(0));
}

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

/* The memory's second half is the one block, at an odd place of the array. */
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

static const struct vmap_param vmap_params[] = {
	{ "base" }, { "runs" }, { "pmd", true }, { "detect", true }, { "auto", true, true },
};

KUNIT_ARRAY_PARAM_DESC(vmap, vmap_params, name);

/* Whether the kernel was told so; what it made of that is to be tested. */
bool vmap_kunit_told(const char *option)
{
	return strstr(saved_command_line, option);
}

unsigned int vmap_kunit_shift(const struct vmap_param *param, pgprot_t prot)
{
	if (param->large && IS_ENABLED(CONFIG_HAVE_ARCH_HUGE_VMALLOC) &&
	    !vmap_kunit_told("nohugevmalloc") && arch_vmap_pmd_supported(prot))
		return PMD_SHIFT;
	return PAGE_SHIFT;
}

static int vmap_test_init(struct kunit *test)
{
	struct vmap_room *room;

	room = kunit_kzalloc(test, sizeof(*room), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, room);
	room->found = vmap_method();
	test->priv = room;
	room->pages = kunit_kcalloc(test, VMAP_LOOSE, sizeof(*room->pages), GFP_KERNEL);
	room->loose = alloc_pages(GFP_KERNEL, ilog2(VMAP_LOOSE));
	room->compound = alloc_pages(GFP_KERNEL | __GFP_COMP, ilog2(VMAP_COMPOUND));
	KUNIT_ASSERT_NOT_NULL(test, room->pages);
	KUNIT_ASSERT_NOT_NULL(test, room->loose);
	KUNIT_ASSERT_NOT_NULL(test, room->compound);
	if (test->param_value) {
		const struct vmap_param *param = test->param_value;

		KUNIT_ASSERT_EQ(test, vmap_set_method(param->name), 0);
	}

	return 0;
}

static void vmap_test_exit(struct kunit *test)
{
	struct vmap_room *room = test->priv;

	if (!room)
		return;
	vmap_set_method(room->found);
	if (room->loose)
		__free_pages(room->loose, ilog2(VMAP_LOOSE));
	if (room->compound)
		__free_pages(room->compound, ilog2(VMAP_COMPOUND));
}

static void vmap_names(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmap_params); i++) {
		KUNIT_EXPECT_EQ(test, vmap_set_method(vmap_params[i].name), 0);
		KUNIT_EXPECT_STREQ(test, vmap_method(), vmap_params[i].name);
	}
	KUNIT_EXPECT_EQ(test, vmap_set_method("auto\n"), 0);
	KUNIT_EXPECT_EQ(test, vmap_set_method("no such"), -EINVAL);
	KUNIT_EXPECT_STREQ(test, vmap_method(), "auto");
}

static void vmap_one_array(struct kunit *test, const struct vmap_shape *shape)
{
	const struct vmap_param *param = test->param_value;
	struct vmap_room *room = test->priv;
	struct vmap_want want = {
		.nr = shape->nr,
		.pages = room->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(param, PAGE_KERNEL),
	};
	bool large = want.max_shift >= PMD_SHIFT && PMD_SIZE == BLOCK * PAGE_SIZE &&
		     (param->phase || !shape->phase) && !vmap_kunit_beside_readers;
	struct vm_struct *area;
	unsigned long i;
	void *addr;
	u8 byte;

	for (i = 0; i < shape->nr; i++)
		room->pages[i] = vmap_kunit_page(room, shape->at(i));
	addr = vmap(room->pages, shape->nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	area = find_vm_area(addr);
	if (!area || get_vm_area_size(area) != shape->nr * PAGE_SIZE)
		KUNIT_FAIL(test, "the area has another size");
	if (copy_from_kernel_nofault(&byte, addr + shape->nr * PAGE_SIZE, 1) != -EFAULT)
		KUNIT_FAIL(test, "the page behind the mapping can be read");
	if (vmap_kunit_verify(test, &want)) {
		if (large && want.blocks < shape->blocks)
			KUNIT_FAIL(test, "%u PMD leafs, want %u", want.blocks, shape->blocks);
		if (large && BIT(ARCH_VMAP_GROUP_SHIFT) == GROUP * PAGE_SIZE &&
		    want.groups < shape->groups)
			KUNIT_FAIL(test, "%u groups, want %u", want.groups, shape->groups);
		vmap_kunit_bytes(test, &want);
	}
	vunmap(addr);
	vmap_kunit_is(test, want.addr, shape->nr, VMAP_NONE);
}

static void vmap_arrays(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmap_shapes); i++) {
		vmap_one_array(test, &vmap_shapes[i]);
		if (READ_ONCE(test->status) == KUNIT_FAILURE) {
			KUNIT_FAIL(test, "array \"%s\"", vmap_shapes[i].name);
			return;
		}
		cond_resched();
	}
}

static struct kunit_case vmap_test_cases[] = {
	KUNIT_CASE(vmap_names),
	KUNIT_CASE_PARAM(vmap_arrays, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_range, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vmalloc, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_attribute, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_owned, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_put_pages, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_read_only, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_again, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_boundary, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_border, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_remap, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_vread, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_visit, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_sparse, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_map_ram, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_parts, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_percpu, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_bad_page, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_memory, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_table, vmap_gen_params),
	KUNIT_CASE_PARAM(vmap_kunit_no_space, vmap_gen_params),
	{}
};

static struct kunit_suite vmap_test_suite = {
	.name = "vmap",
	.init = vmap_test_init,
	.exit = vmap_test_exit,
	.test_cases = vmap_test_cases,
};

kunit_test_suite(vmap_test_suite);

MODULE_DESCRIPTION("KUnit tests for mappings of contiguous memory");
MODULE_LICENSE("GPL");
