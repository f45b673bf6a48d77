// SPDX-License-Identifier: GPL-2.0-only
/* Memory is isolated if nothing in it is unmovable, wherever free pages end. */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>

#include "memory_offline_kunit_compat.h"

/* Pages of pageblocks that nobody else has: one is used, and the others are free. */
static void memory_offline_around(struct kunit *test, unsigned long used)
{
	const gfp_t gfp = GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN;
	struct page *page = alloc_pages(gfp, MAX_PAGE_ORDER);
	unsigned long start, end, i;
	int busy, idle;

	if (!page)
		kunit_skip(test, "no free memory of the largest order");
	start = page_to_pfn(page);
	end = start + MAX_ORDER_NR_PAGES;
	split_page(page, MAX_PAGE_ORDER);
	for (i = start; i < end; i++)
		if (i != start + used)
			__free_page(pfn_to_page(i));

	busy = memory_offline_isolate(start, end);
	if (!busy)
		memory_offline_undo(start, end);
	__free_page(pfn_to_page(start + used));
	idle = memory_offline_isolate(start, end);
	if (!idle)
		memory_offline_undo(start, end);

	KUNIT_EXPECT_EQ(test, busy, -EBUSY);
	KUNIT_EXPECT_EQ(test, idle, 0);
}

/* Next to it are free pages of every order. */
static void memory_offline_used_page(struct kunit *test)
{
	unsigned int order;

	for (order = 0; order <= MAX_PAGE_ORDER; order++) {
		memory_offline_around(test, (1UL << order) - 1);
		memory_offline_around(test, (1UL << order) % MAX_ORDER_NR_PAGES);
		memory_offline_around(test, MAX_ORDER_NR_PAGES - (1UL << order));
	}
}

static struct kunit_case memory_offline_cases[] = {
	KUNIT_CASE_SLOW(memory_offline_used_page),
	{}
};

static struct kunit_suite memory_offline_suite = {
	.name		= "memory_offline",
	.test_cases	= memory_offline_cases,
};

kunit_test_suite(memory_offline_suite);
