// SPDX-License-Identifier: GPL-2.0-only
/*
 * Two loops skip free pages by their order, before memory is isolated and when it goes offline.
 * Compare them with a look at each page by itself.
 *
 * The pages are device memory, whose struct pages are written as those of a zone's memory. So
 * nobody allocates or frees a page meanwhile.
 */

#include <kunit/test.h>
#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/prandom.h>

#include "internal.h"
#include "device_memory_kunit.h"
#include "memory_offline_kunit.h"

#define PAGES	(2UL * MAX_ORDER_NR_PAGES)
#define ROUNDS	48

static struct device_memory offline_memory;

static void offline_write(unsigned long pfn, enum zone_type zone, int count)
{
	struct page *page = pfn_to_page(pfn);

	mm_zero_struct_page(page);
	set_page_links(page, zone, zone_to_nid(offline_memory.zone), pfn);
	set_page_count(page, count);
	atomic_set(&page->_mapcount, -1);
	INIT_LIST_HEAD(&page->lru);
}

/* A page of the kernel, of a process, reserved, held by a driver, or in a list of a CPU. */
static void offline_use(unsigned long pfn, enum zone_type zone, u32 kind)
{
	struct page *page = pfn_to_page(pfn);

	offline_write(pfn, zone, kind != 4);
	if (kind == 1)
		SetPageLRU(page);
	else if (kind == 2)
		__SetPageReserved(page);
	else if (kind == 3)
		__SetPageOffline(page);
}

/* Free pages of all orders, and one other in about @rare of them. */
static void offline_lay_out(enum zone_type zone, struct rnd_state *rnd, u32 rare)
{
	unsigned long pfn, end = offline_memory.pfn + PAGES, i;
	unsigned int order;

	for (pfn = offline_memory.pfn; pfn < end; pfn += 1UL << order) {
		order = 0;
		if (prandom_u32_state(rnd) % rare == 0) {
			offline_use(pfn, zone, prandom_u32_state(rnd) % 5);
			continue;
		}
		order = min(prandom_u32_state(rnd) % NR_PAGE_ORDERS, __ffs(pfn));
		for (i = 0; i < 1UL << order; i++)
			offline_write(pfn + i, zone, 0);
		__SetPageBuddy(pfn_to_page(pfn));
		set_page_private(pfn_to_page(pfn), order);
	}
}

static void offline_compare_isolation(struct kunit *test, unsigned long start, bool offline)
{
	const unsigned long end = start + pageblock_nr_pages;
	struct page *found = offline_unmovable(start, end, offline), *want = NULL;
	unsigned long pfn;

	for (pfn = start; pfn < end && !want; pfn++)
		want = offline_unmovable(pfn, pfn + 1, offline);
	KUNIT_EXPECT_PTR_EQ(test, found, want);
}

static void offline_compare_scan(struct kunit *test, unsigned long start)
{
	unsigned long end = offline_memory.pfn + PAGES, found = 0, want = 0, pfn;
	int err = scan_movable_pages(start, end, &found), slow = -ENOENT;

	for (pfn = start; pfn < end && slow == -ENOENT; pfn++)
		slow = scan_movable_pages(pfn, pfn + 1, &want);
	KUNIT_EXPECT_EQ(test, err, slow);
	KUNIT_EXPECT_EQ(test, found, want);
}

static void memory_offline_zone(struct kunit *test, enum zone_type zone)
{
	unsigned long start = offline_memory.pfn, pfn;
	struct rnd_state rnd;
	unsigned int round;

	prandom_seed_state(&rnd, 1);
	for (round = 0; round < ROUNDS; round++) {
		offline_lay_out(zone, &rnd, 1U << round % 12);
		for (pfn = start; pfn < start + PAGES; pfn += pageblock_nr_pages) {
			offline_compare_isolation(test, pfn, false);
			offline_compare_isolation(test, pfn, true);
		}
		offline_compare_scan(test, start);
		offline_compare_scan(test, start + prandom_u32_state(&rnd) % PAGES);
		cond_resched();
	}
}

static void memory_offline_movable(struct kunit *test)
{
	const int nid = zone_to_nid(offline_memory.zone);
	struct zone *zone = &NODE_DATA(nid)->node_zones[ZONE_MOVABLE];

	if (zone->spanned_pages)
		kunit_skip(test, "this machine has movable memory");
	mem_hotplug_begin();
	offline_move(zone, offline_memory.pfn, offline_memory.nr_pages);
	memory_offline_zone(test, ZONE_MOVABLE);
	remove_pfn_range_from_zone(zone, offline_memory.pfn, offline_memory.nr_pages);
	mem_hotplug_done();
}

/* For these loops, this zone is like any other that is not movable. */
static void memory_offline_device(struct kunit *test)
{
	memory_offline_zone(test, ZONE_DEVICE);
}

static int memory_offline_init(struct kunit_suite *suite)
{
	return device_memory_get(&offline_memory, ALIGN(PAGES, PAGES_PER_SECTION));
}

static void memory_offline_exit(struct kunit_suite *suite)
{
	device_memory_put(&offline_memory);
}

static struct kunit_case memory_offline_cases[] = {
	KUNIT_CASE(memory_offline_movable),
	KUNIT_CASE(memory_offline_device),
	{}
};

static struct kunit_suite memory_offline_suite = {
	.name		= "memory_offline",
	.suite_init	= memory_offline_init,
	.suite_exit	= memory_offline_exit,
	.test_cases	= memory_offline_cases,
};

kunit_test_suite(memory_offline_suite);
