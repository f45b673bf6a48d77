// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the tails of a gigantic page of device memory. Those in the first page of its memmap
 * are made one by one, and the others are copies, which must equal the last of the first.
 */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/string.h>

#include "device_memory_kunit.h"

#define POISON		0x5a
#define AROUND		512UL	/* struct pages before and after */
#define ORDER		(MAX_PAGE_ORDER + 1)
#define NR		(2UL * MAX_ORDER_NR_PAGES)
#define ONE_BY_ONE	(PAGE_SIZE / sizeof(struct page))

static struct device_memory gigantic_memory;

static bool gigantic_untouched(const struct page *page, unsigned long nr)
{
	return !memchr_inv(page, POISON, nr * sizeof(*page));
}

static void gigantic_same_tails(struct kunit *test)
{
	const unsigned long pfn = ALIGN(gigantic_memory.pfn + AROUND, NR);
	struct page *head = pfn_to_page(pfn), *tail = head + ONE_BY_ONE - 1;
	struct dev_pagemap pgmap = {
		.type = MEMORY_DEVICE_GENERIC,
		.flags = PGMAP_ALTMAP_VALID,
		.vmemmap_shift = ORDER,
		/* After an altmap, all struct pages are written. This one has no pages. */
		.altmap.base_pfn = pfn,
	};
	unsigned long i, differ = 0;

	memset(head - AROUND, POISON, (NR + 2 * AROUND) * sizeof(*head));
	memmap_init_zone_device(gigantic_memory.zone, pfn, NR, &pgmap);

	KUNIT_EXPECT_EQ(test, compound_order(head), ORDER);
	KUNIT_EXPECT_EQ(test, page_ref_count(tail), 0);
	KUNIT_EXPECT_PTR_EQ(test, compound_head(tail), head);
	for (i = ONE_BY_ONE; i < NR; i++)
		differ += memcmp(head + i, tail, sizeof(*tail)) != 0;
	KUNIT_EXPECT_EQ(test, differ, 0);
	KUNIT_EXPECT_TRUE(test, gigantic_untouched(head - AROUND, AROUND));
	KUNIT_EXPECT_TRUE(test, gigantic_untouched(head + NR, AROUND));
}

static int gigantic_init(struct kunit_suite *suite)
{
	return device_memory_get(&gigantic_memory, ALIGN(2 * NR + 2 * AROUND, PAGES_PER_SECTION));
}

static void gigantic_exit(struct kunit_suite *suite)
{
	device_memory_put(&gigantic_memory);
}

static struct kunit_case gigantic_cases[] = {
	KUNIT_CASE(gigantic_same_tails),
	{}
};

static struct kunit_suite gigantic_suite = {
	.name		= "gigantic",
	.suite_init	= gigantic_init,
	.suite_exit	= gigantic_exit,
	.test_cases	= gigantic_cases,
};

kunit_test_suite(gigantic_suite);
