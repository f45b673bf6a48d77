// SPDX-License-Identifier: GPL-2.0-only
/*
 * While vmalloc memory is read-only, its pages must be so in the linear map, too, and no other
 * page may be. All are written first, so that the TLB has them.
 */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mmu_context.h>
#include <linux/set_memory.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

/* Numbers of pages that are no power of two take several runs. */
struct set_memory_range {
	const char *name;
	unsigned long nr, first, end;
};

static const struct set_memory_range set_memory_ranges[] = {
	{ "page",	1,	0,	1 },
	{ "one of two",	2,	1,	2 },
	{ "odd",	31,	0,	31 },
	{ "middle",	31,	5,	29 },
	{ "2 MiB",	512,	0,	512 },
	{ "part",	512,	130,	391 },
	{ "blocks",	2500,	3,	2500 },
};

KUNIT_ARRAY_PARAM_DESC(set_memory, set_memory_ranges, name);

static bool set_memory_can_write(void *at)
{
	u8 byte = *(u8 *)at;

	return !copy_to_kernel_nofault(at, &byte, sizeof(byte));
}

/* Count the pages that can be written and may not be, or the other way round. */
static unsigned long set_memory_wrong(void *start, const struct set_memory_range *range, bool ro)
{
	unsigned long i, wrong = 0;

	for (i = 0; i < range->nr; i++) {
		void *at = start + i * PAGE_SIZE;
		bool may = !ro || i < range->first || i >= range->end;

		wrong += set_memory_can_write(at) != may;
		wrong += set_memory_can_write(page_address(vmalloc_to_page(at))) != may;
	}

	return wrong;
}

static void set_memory_linear_map(struct kunit *test)
{
	const struct set_memory_range *range = test->param_value;
	const int nr = range->end - range->first;
	unsigned long addr;
	void *start;

	if (!rodata_full)
		kunit_skip(test, "only rodata=full changes the linear map");
	start = vmalloc(range->nr * PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, start);
	addr = (unsigned long)start + range->first * PAGE_SIZE;
	KUNIT_EXPECT_EQ(test, set_memory_wrong(start, range, false), 0);
	KUNIT_EXPECT_EQ(test, set_memory_ro(addr, nr), 0);
	KUNIT_EXPECT_EQ(test, set_memory_wrong(start, range, true), 0);
	KUNIT_EXPECT_EQ(test, set_memory_rw(addr, nr), 0);
	KUNIT_EXPECT_EQ(test, set_memory_wrong(start, range, false), 0);
	vfree(start);
}

static struct kunit_case set_memory_cases[] = {
	KUNIT_CASE_PARAM(set_memory_linear_map, set_memory_gen_params),
	{}
};

static struct kunit_suite set_memory_suite = {
	.name		= "set_memory",
	.test_cases	= set_memory_cases,
};

kunit_test_suite(set_memory_suite);
