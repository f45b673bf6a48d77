// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare zone->contiguous with a scan of the whole zone by set_zone_contiguous(),
 * whenever memory came or went. Compare struct pages that are written in batches with
 * those that the kernel writes one by one.
 *
 * Some sections of unused physical addresses become device memory, whose memmap
 * nothing else uses. The tests let these sections come and go in a zone that has no
 * memory. No page is given to the page allocator.
 */

#include <kunit/test.h>
#include <linux/ioport.h>
#include <linux/memory_hotplug.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/prandom.h>
#include <linux/slab.h>

#include "memmap_hotplug.h"
#include "memory_hotplug_kunit_compat.h"

#define SECTIONS	6
#define STEPS		1000

static struct resource *hotplug_resource;
static struct dev_pagemap hotplug_pgmap;
static struct zone *hotplug_zone;
static unsigned long hotplug_base_pfn;
static bool hotplug_in_zone[SECTIONS];

static unsigned long hotplug_pfn(unsigned int section)
{
	return hotplug_base_pfn + section * PAGES_PER_SECTION;
}

static void hotplug_check(struct kunit *test)
{
	const bool contiguous = hotplug_zone->contiguous;

	clear_zone_contiguous(hotplug_zone);
	set_zone_contiguous(hotplug_zone);
	KUNIT_EXPECT_EQ_MSG(test, contiguous, hotplug_zone->contiguous, "from %#lx to %#lx",
			    hotplug_zone->zone_start_pfn, zone_end_pfn(hotplug_zone));
	hotplug_zone->contiguous = contiguous;
}

static void hotplug_add(struct kunit *test, unsigned int section)
{
	hotplug_in_zone[section] = true;
	hotplug_move(hotplug_zone, hotplug_pfn(section), PAGES_PER_SECTION);
	hotplug_check(test);
	online_mem_sections(hotplug_pfn(section), hotplug_pfn(section + 1));
}

static void hotplug_remove(struct kunit *test, unsigned int section)
{
	offline_mem_sections(hotplug_pfn(section), hotplug_pfn(section + 1));
	hotplug_in_zone[section] = false;
	remove_pfn_range_from_zone(hotplug_zone, hotplug_pfn(section), PAGES_PER_SECTION);
	hotplug_check(test);
}

static void hotplug_empty(struct kunit *test)
{
	unsigned int i;

	for (i = 0; i < SECTIONS; i++) {
		if (hotplug_in_zone[i])
			hotplug_remove(test, i);
	}
}

/* Memory is added at the end, and removed from each end. */
static void memory_hotplug_ends(struct kunit *test)
{
	unsigned int i;

	mem_hotplug_begin();
	for (i = 0; i < SECTIONS; i++)
		hotplug_add(test, i);
	for (i = SECTIONS - 1; i >= SECTIONS / 2; i--) {
		hotplug_remove(test, i);
		KUNIT_EXPECT_TRUE(test, hotplug_zone->contiguous);
	}
	hotplug_empty(test);
	mem_hotplug_done();
}

static void memory_hotplug_random(struct kunit *test)
{
	unsigned int i, section;
	struct rnd_state state;

	prandom_seed_state(&state, 1);
	mem_hotplug_begin();
	for (i = 0; i < STEPS; i++) {
		section = prandom_u32_state(&state) % SECTIONS;
		if (hotplug_in_zone[section])
			hotplug_remove(test, section);
		else
			hotplug_add(test, section);
	}
	hotplug_empty(test);
	mem_hotplug_done();
}

/* A part of a section leaves first, as with the memmap of a memory block in the block. */
static void memory_hotplug_parts(struct kunit *test)
{
	const unsigned long pfn = hotplug_pfn(1), part = pageblock_nr_pages;

	mem_hotplug_begin();
	hotplug_add(test, 0);
	hotplug_move(hotplug_zone, pfn, part);
	hotplug_check(test);
	hotplug_move(hotplug_zone, pfn + part, PAGES_PER_SECTION - part);
	hotplug_check(test);
	online_mem_sections(pfn, pfn + PAGES_PER_SECTION);
	set_zone_contiguous(hotplug_zone);
	KUNIT_EXPECT_TRUE(test, hotplug_zone->contiguous);

	offline_mem_sections(pfn, pfn + PAGES_PER_SECTION);
	remove_pfn_range_from_zone(hotplug_zone, pfn + part, PAGES_PER_SECTION - part);
	hotplug_check(test);
	remove_pfn_range_from_zone(hotplug_zone, pfn, part);
	KUNIT_EXPECT_TRUE(test, hotplug_zone->contiguous);
	hotplug_check(test);
	hotplug_empty(test);
	mem_hotplug_done();
}

/* Write a struct page as memmap_init_range() does. */
static void hotplug_write(unsigned long pfn)
{
	struct page *page = pfn_to_page(pfn);

	__init_single_page(page, pfn, ZONE_MOVABLE, zone_to_nid(hotplug_zone));
	__SetPageOffline(page);
}

static void *hotplug_written(struct kunit *test, unsigned long nr_pages)
{
	struct page *page = pfn_to_page(hotplug_base_pfn);
	unsigned long i;
	void *copy;

	for (i = 0; i < nr_pages; i++)
		hotplug_write(hotplug_base_pfn + i);
	copy = kvmalloc_array(nr_pages, sizeof(*page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, copy);
	memcpy(copy, page, nr_pages * sizeof(*page));

	return copy;
}

/* Fill a part of a pageblock and the rest of it, and do not write the next one. */
static void memory_hotplug_fill(struct kunit *test)
{
	const unsigned long nr = pageblock_nr_pages, pfn = hotplug_base_pfn;
	const unsigned long ends[] = { 1, 2, nr / 2 + 3, nr, nr + 1, 2 * nr };
	struct page *page = pfn_to_page(pfn);
	unsigned long next;
	unsigned int i;
	void *copy;

#ifdef WANT_PAGE_VIRTUAL
	kunit_skip(test, "each descriptor has another address in it");
#endif
	for (i = 0; i < ARRAY_SIZE(ends); i++) {
		copy = hotplug_written(test, 2 * nr);
		memset(page, 0x5a, min(nr, ends[i]) * sizeof(*page));
		hotplug_write(pfn);
		next = memmap_fill_pageblock(page, pfn, pfn + ends[i]);
		KUNIT_EXPECT_EQ(test, next, pfn + min(nr, ends[i]));
		KUNIT_EXPECT_MEMEQ(test, page, copy, 2 * nr * sizeof(*page));
		kvfree(copy);
	}
}

/* Struct pages become those of free pages, unless one of them is not as it was written. */
static void memory_hotplug_online(struct kunit *test)
{
	const unsigned int nr = MAX_ORDER_NR_PAGES;
	struct page *page = pfn_to_page(hotplug_base_pfn);
	unsigned int i;
	void *copy;

	kvfree(hotplug_written(test, nr));
	for (i = 0; i < nr; i++) {
		__ClearPageOffline(page + i);
		set_page_count(page + i, 0);
	}
	copy = kmemdup(page, nr * sizeof(*page), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, copy);

	kvfree(hotplug_written(test, nr));
	KUNIT_EXPECT_EQ(test, memmap_online(page, nr, true), nr);
	KUNIT_EXPECT_MEMEQ(test, page, copy, nr * sizeof(*page));

	/* Where nobody checks them, flags are cleared, but for those of the first page. */
	kvfree(hotplug_written(test, nr));
	for (i = 1; i < nr; i++)
		SetPageDirty(page + i);
	KUNIT_EXPECT_EQ(test, memmap_online(page, nr, false), nr);
	KUNIT_EXPECT_MEMEQ(test, page, copy, nr * sizeof(*page));
	kfree(copy);

	kvfree(hotplug_written(test, nr));
	__SetPageHead(page);
	KUNIT_EXPECT_EQ(test, memmap_online(page, nr, false), 0);

	for (i = 0; i < nr; i += nr / 4 - 1) {
		kvfree(hotplug_written(test, nr));
		set_page_private(page + i, 1);
		KUNIT_EXPECT_EQ(test, memmap_online(page, nr, true), 0);
		kvfree(hotplug_written(test, nr));
		SetPageDirty(page + i);
		KUNIT_EXPECT_EQ(test, memmap_online(page, nr, true), 0);
	}
	kvfree(hotplug_written(test, nr));
}

/*
 * request_free_mem_region() may return addresses that have no section. Take the
 * highest addresses that have sections instead.
 */
static struct resource *hotplug_addresses(resource_size_t size)
{
	const resource_size_t end = 1ULL << MAX_PHYSMEM_BITS;
	struct resource *found;

	found = request_free_mem_region(&iomem_resource, size, "memory_hotplug_kunit");
	if (IS_ERR(found) || found->end < end)
		return found;
	release_mem_region(found->start, size);
	found = request_mem_region(end - size, size, "memory_hotplug_kunit");

	return found ?: ERR_PTR(-EBUSY);
}

/* The PFN of the page that holds the struct page at @page; 0 if no PTE maps it. */
static unsigned long hotplug_descriptor_pfn(const struct page *page)
{
	const unsigned long addr = (unsigned long)page;
	pud_t *pud = pud_offset(p4d_offset(pgd_offset_k(addr), addr), addr);
	pmd_t *pmd = pud_leaf(*pud) ? NULL : pmd_offset(pud, addr);

	return pmd && !pmd_leaf(*pmd) ? pte_pfn(ptep_get(pte_offset_kernel(pmd, addr))) : 0;
}

/* Check each compound page that begins in the first @nr pages from @pfn on. */
static void hotplug_check_shared(struct kunit *test, unsigned long pfn, unsigned long nr,
				 unsigned int order)
{
	const unsigned long each = PAGE_SIZE / sizeof(struct page);
	unsigned long head = 0, tail = 0, last = 0, i;

	for (i = 0; i < nr; i += each) {
		const unsigned long of = i % BIT(order);
		const unsigned long found = hotplug_descriptor_pfn(pfn_to_page(pfn + i));

		if (of == 0)
			head = found;
		else if (of == each)
			tail = found;
		if (of == 0 || of == each)
			KUNIT_EXPECT_NE_MSG(test, found, last, "page %#lx", pfn + i);
		else if (found != tail)
			KUNIT_FAIL(test, "page %#lx: %#lx, tail page %#lx", pfn + i, found, tail);
		if (of + each == BIT(order))
			KUNIT_EXPECT_EQ(test, page_count(pfn_to_page(tail)), BIT(order) / each - 1);
		last = found;
	}
	KUNIT_EXPECT_NE(test, head, tail);
}

/*
 * The tail pages of each compound page have their struct pages in one page, with a
 * reference for each time it is mapped. Sections in the middle of a compound page share
 * the page of the one before.
 */
static void memory_hotplug_shared(struct kunit *test)
{
	static const unsigned int orders[] = { PMD_SHIFT - PAGE_SHIFT, PUD_SHIFT - PAGE_SHIFT };
	struct dev_pagemap *pgmap = kunit_kzalloc(test, sizeof(*pgmap), GFP_KERNEL);
	struct resource *found;
	unsigned int i;

	KUNIT_ASSERT_NOT_NULL(test, pgmap);
	if (!is_power_of_2(sizeof(struct page)) ||
	    !IS_ENABLED(CONFIG_ARCH_WANT_OPTIMIZE_DAX_VMEMMAP))
		kunit_skip(test, "this kernel shares no descriptors");
	found = hotplug_addresses(2 * PUD_SIZE);
	KUNIT_ASSERT_FALSE(test, IS_ERR(found));

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		void *map;

		memset(pgmap, 0, sizeof(*pgmap));
		pgmap->type = MEMORY_DEVICE_GENERIC;
		pgmap->vmemmap_shift = orders[i];
		pgmap->range.start = ALIGN(found->start, PUD_SIZE);
		pgmap->range.end = pgmap->range.start + PUD_SIZE - 1;
		pgmap->nr_range = 1;
		if (!vmemmap_can_optimize(NULL, pgmap))
			continue;
		map = memremap_pages(pgmap, NUMA_NO_NODE);
		if (IS_ERR(map)) {
			KUNIT_FAIL(test, "order %u: %ld", orders[i], PTR_ERR(map));
			continue;
		}
		hotplug_check_shared(test, PHYS_PFN(pgmap->range.start), PUD_SIZE / PAGE_SIZE,
				     orders[i]);
		memunmap_pages(pgmap);
	}
	release_mem_region(found->start, resource_size(found));
}

static int memory_hotplug_suite_init(struct kunit_suite *suite)
{
	void *map;

	hotplug_resource = hotplug_addresses(SECTIONS * PAGES_PER_SECTION * PAGE_SIZE);
	if (IS_ERR(hotplug_resource))
		return PTR_ERR(hotplug_resource);

	hotplug_pgmap.type = MEMORY_DEVICE_GENERIC;
	hotplug_pgmap.range.start = hotplug_resource->start;
	hotplug_pgmap.range.end = hotplug_resource->end;
	hotplug_pgmap.nr_range = 1;
	map = memremap_pages(&hotplug_pgmap, NUMA_NO_NODE);
	if (IS_ERR(map)) {
		release_mem_region(hotplug_resource->start, resource_size(hotplug_resource));
		return PTR_ERR(map);
	}

	hotplug_base_pfn = PHYS_PFN(hotplug_resource->start);
	hotplug_zone = &page_pgdat(pfn_to_page(hotplug_base_pfn))->node_zones[ZONE_MOVABLE];

	return 0;
}

static void memory_hotplug_suite_exit(struct kunit_suite *suite)
{
	unsigned long pfn;

	if (!hotplug_zone)
		return;

	for (pfn = hotplug_pfn(0); pfn < hotplug_pfn(SECTIONS); pfn++)
		__init_single_page(pfn_to_page(pfn), pfn, ZONE_DEVICE, zone_to_nid(hotplug_zone));
	memunmap_pages(&hotplug_pgmap);
	release_mem_region(hotplug_resource->start, resource_size(hotplug_resource));
	hotplug_zone = NULL;
}

static int memory_hotplug_init(struct kunit *test)
{
	if (hotplug_zone->spanned_pages)
		kunit_skip(test, "this machine has movable memory");

	return 0;
}

static struct kunit_case memory_hotplug_cases[] = {
	KUNIT_CASE(memory_hotplug_ends),
	KUNIT_CASE(memory_hotplug_random),
	KUNIT_CASE(memory_hotplug_parts),
	KUNIT_CASE(memory_hotplug_fill),
	KUNIT_CASE(memory_hotplug_online),
	KUNIT_CASE(memory_hotplug_shared),
	{}
};

static struct kunit_suite memory_hotplug_suite = {
	.name		= "memory_hotplug",
	.suite_init	= memory_hotplug_suite_init,
	.suite_exit	= memory_hotplug_suite_exit,
	.init		= memory_hotplug_init,
	.test_cases	= memory_hotplug_cases,
};

kunit_test_suite(memory_hotplug_suite);
