// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure set_memory_rox() and set_memory_rw() of memory as BPF programs and modules have it.
 * With set_memory_bench.rounds=N on the command line, each way to change the linear map is
 * measured N times, and the results are printed as lines of KEY=value. Under an emulator whose
 * clock counts instructions, the times are numbers of instructions.
 */

#include <kunit/test.h>
#include <linux/execmem.h>
#include <linux/ktime.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/set_memory.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "set_memory_bench.h"

#undef pr_fmt
#define pr_fmt(fmt) "set_memory_bench: " fmt

#define SET_MEMORY_TIMES	8	/* in each round, of which the fewest count */

static unsigned int set_memory_bench_rounds;
module_param_named(rounds, set_memory_bench_rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "Number of times that each way is measured at boot (default 0)");

bool set_memory_by_page;
unsigned long set_memory_flushes;

static const struct set_memory_size {
	const char *name;
	size_t bytes;
} set_memory_sizes[] = {
	{ "2M",		SZ_2M },
	{ "64K",	SZ_64K },
	{ "1-page",	PAGE_SIZE },
};

/* The kernel's own way is measured twice, because the difference is noise. */
static const char *const set_memory_ways[] = { "base", "control", "auto" };

static void set_memory_way_desc(const char *const *way, char *desc)
{
	strscpy(desc, *way, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(set_memory_way, set_memory_ways, set_memory_way_desc);

static bool set_memory_is_writable(void *start, size_t offset)
{
	void *at = page_address(vmalloc_to_page(start + offset));
	u8 byte = *(u8 *)at;

	return !copy_to_kernel_nofault(at, &byte, sizeof(byte));
}

/* What both functions took, at least: interrupts and other tasks only add to it. */
struct set_memory_took {
	u64 rox_ns, rw_ns;
	unsigned long rox_flushes, rw_flushes;
};

static void set_memory_measure(struct kunit *test, size_t bytes, struct set_memory_took *took)
{
	unsigned long flushes;
	void *start = execmem_alloc(EXECMEM_BPF, bytes);
	u64 began;

	KUNIT_ASSERT_NOT_NULL(test, start);
	vm_unmap_aliases();
	flushes = set_memory_flushes;
	began = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, set_memory_rox((unsigned long)start, bytes / PAGE_SIZE), 0);
	took->rox_ns = min(took->rox_ns, ktime_get_ns() - began);
	took->rox_flushes = min(took->rox_flushes, set_memory_flushes - flushes);
	KUNIT_EXPECT_FALSE(test, set_memory_is_writable(start, 0));
	KUNIT_EXPECT_FALSE(test, set_memory_is_writable(start, bytes - 1));

	flushes = set_memory_flushes;
	began = ktime_get_ns();
	KUNIT_EXPECT_EQ(test, set_memory_rw((unsigned long)start, bytes / PAGE_SIZE), 0);
	took->rw_ns = min(took->rw_ns, ktime_get_ns() - began);
	took->rw_flushes = min(took->rw_flushes, set_memory_flushes - flushes);
	KUNIT_EXPECT_TRUE(test, set_memory_is_writable(start, 0));
	KUNIT_EXPECT_TRUE(test, set_memory_is_writable(start, bytes - 1));
	execmem_free(start);
}

static void set_memory_round(struct kunit *test, const struct set_memory_size *size,
			     const char *way)
{
	struct set_memory_took took = { U64_MAX, U64_MAX, ULONG_MAX, ULONG_MAX };
	const unsigned long items = size->bytes / PAGE_SIZE;
	unsigned int i;

	for (i = 0; i < SET_MEMORY_TIMES; i++)
		set_memory_measure(test, size->bytes, &took);
	pr_info("case=rox-%s method=%s ns=%llu items=%lu\n", size->name, way, took.rox_ns, items);
	pr_info("case=rox-%s-flushes method=%s ns=%lu items=%lu\n", size->name, way,
		took.rox_flushes, items);
	pr_info("case=rw-%s method=%s ns=%llu items=%lu\n", size->name, way, took.rw_ns, items);
	pr_info("case=rw-%s-flushes method=%s ns=%lu items=%lu\n", size->name, way,
		took.rw_flushes, items);
}

static void set_memory_each_way(struct kunit *test)
{
	const char *way = *(const char *const *)test->param_value;
	unsigned int i, round;

	if (!set_memory_bench_rounds)
		kunit_skip(test, "set_memory_bench.rounds is 0");
	set_memory_by_page = strcmp(way, "auto");
	for (round = 0; round < set_memory_bench_rounds; round++)
		for (i = 0; i < ARRAY_SIZE(set_memory_sizes); i++)
			set_memory_round(test, &set_memory_sizes[i], way);
	set_memory_by_page = false;
}

static struct kunit_case set_memory_bench_cases[] = {
	KUNIT_CASE_PARAM(set_memory_each_way, set_memory_way_gen_params),
	{}
};

static struct kunit_suite set_memory_bench_suite = {
	.name		= "set_memory_bench",
	.test_cases	= set_memory_bench_cases,
};

kunit_test_suite(set_memory_bench_suite);
