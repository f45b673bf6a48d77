// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the memmap that mm/mm_init.c writes from templates with that of the slow path.
 *
 * Some sections of unused physical addresses become device memory, whose memmap
 * nothing else uses. The slow path ("base") writes an image there, and each method
 * must produce the same one. All images are made at the same address, because
 * struct pages point to each other. The struct pages around the range are compared
 * as well.
 */

#include <kunit/test.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "device_memory_kunit.h"
#include "zone_device_kunit.h"
#include "zone_device_method.h"

#define SECTIONS	3UL
#define POISON		0x5a
#define MOST_BYTES	(2 * PAGES_PER_SECTION * sizeof(struct page))

static struct device_memory zone_device_memory;
static struct dev_pagemap zone_device_pgmap;
static void *zone_device_want;
static const char *zone_device_found;

void zone_device_kunit_init(const struct zone_device_window *window)
{
	memset(window->from, POISON, window->bytes);
	memmap_init_zone_device(zone_device_memory.zone, window->pfn, window->nr,
				&zone_device_pgmap);
}

struct zone_device_window zone_device_kunit_window(unsigned long at,
						   unsigned long nr)
{
	struct zone_device_window window = {
		.pfn = zone_device_memory.pfn + at,
		.nr = nr,
		.from = pfn_to_page(zone_device_memory.pfn + at - CANARIES),
		.bytes = (nr + 2 * CANARIES) * sizeof(struct page),
	};

	return window;
}

/* Let the slow path write the window, and keep that image to compare with. */
void zone_device_kunit_expect(struct kunit *test,
			      const struct zone_device_window *window)
{
	KUNIT_ASSERT_EQ(test, zone_device_set_method("base"), 0);
	zone_device_kunit_init(window);
	memcpy(zone_device_want, window->from, window->bytes);
}

bool zone_device_kunit_same(const struct zone_device_window *window)
{
	return !memcmp(zone_device_want, window->from, window->bytes);
}

void zone_device_kunit_describe(enum memory_type type, unsigned int shift,
				unsigned long at, unsigned long offset)
{
	struct vmem_altmap altmap = {
		.base_pfn = zone_device_memory.pfn + at,
		.end_pfn = zone_device_memory.pfn + SECTIONS * PAGES_PER_SECTION,
		.free = offset,
	};

	zone_device_pgmap.type = type;
	zone_device_pgmap.vmemmap_shift = shift;
	zone_device_pgmap.flags = offset ? PGMAP_ALTMAP_VALID : 0;
	memcpy(&zone_device_pgmap.altmap, &altmap, sizeof(altmap));
}

static const char *const zone_device_methods[] = {
	"base", "copy", "movnti", "auto",
};

static void zone_device_name(const char *const *method, char *name)
{
	strscpy(name, *method, KUNIT_PARAM_DESC_SIZE);
}

KUNIT_ARRAY_PARAM(zone_device, zone_device_methods, zone_device_name);

void zone_device_kunit_choose(struct kunit *test)
{
	const char *const *method = test->param_value;

	KUNIT_ASSERT_EQ(test, zone_device_set_method(*method), 0);
}

/* Compare the images of one window: the slow path's and the method's. */
static void zone_device_compare(struct kunit *test, unsigned int shift,
				unsigned long offset, unsigned long nr)
{
	/* Not aligned to a pageblock, unless compounds need that. */
	unsigned long at = PAGES_PER_SECTION + (shift ? 1UL << shift : CANARIES + 3);
	struct zone_device_window window;
	enum memory_type type;

	nr = ALIGN(nr, 1UL << shift);
	offset = ALIGN(offset, 1UL << shift);
	window = zone_device_kunit_window(at, nr + offset);

	for (type = MEMORY_DEVICE_PRIVATE; type <= MEMORY_DEVICE_PCI_P2PDMA; type++) {
		zone_device_kunit_describe(type, shift, at, offset);
		zone_device_kunit_expect(test, &window);
		zone_device_kunit_choose(test);
		zone_device_kunit_init(&window);
		KUNIT_EXPECT_TRUE_MSG(test, zone_device_kunit_same(&window),
				      "type %d, order %u, %lu PFNs, altmap of %lu",
				      type, shift, nr, offset);
	}
	cond_resched();
}

static void zone_device_same_image(struct kunit *test)
{
	static const unsigned long lengths[] = { 1, 2, 3, 63, 64, 65, 511, 513, 1536 };
	static const unsigned int orders[] = { 0, 1, 2, 3, 6, 7, 9 };
	unsigned int i, j;

	zone_device_kunit_choose(test);

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		for (j = 0; j < ARRAY_SIZE(lengths); j++) {
			zone_device_compare(test, orders[i], 0, lengths[j]);
			zone_device_compare(test, orders[i], 5, lengths[j]);
		}
	}
}

static void zone_device_same_over_sections(struct kunit *test)
{
	zone_device_kunit_choose(test);
	zone_device_compare(test, 0, 0, 2 * PAGES_PER_SECTION - 1024);
	zone_device_compare(test, 9, 0, 2 * PAGES_PER_SECTION - 1024);
}

/* An altmap that takes the whole range leaves no struct page to write. */
static void zone_device_empty(struct kunit *test)
{
	struct zone_device_window window = zone_device_kunit_window(PAGES_PER_SECTION, 512);

	zone_device_kunit_describe(MEMORY_DEVICE_FS_DAX, 0, PAGES_PER_SECTION, 512);
	zone_device_kunit_choose(test);
	zone_device_kunit_init(&window);
	KUNIT_EXPECT_NULL(test, memchr_inv(window.from, POISON, window.bytes));
}

static void zone_device_names(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, zone_device_set_method("no such method"), -EINVAL);
	KUNIT_EXPECT_EQ(test, zone_device_set_method("auto\n"), 0);
	KUNIT_EXPECT_EQ(test, zone_device_set_method("copy"), 0);
}

static int zone_device_suite_init(struct kunit_suite *suite)
{
	int err;

	zone_device_found = zone_device_method();
	zone_device_want = vmalloc(MOST_BYTES);
	if (!zone_device_want)
		return -ENOMEM;

	err = device_memory_get(&zone_device_memory, SECTIONS * PAGES_PER_SECTION);
	if (err)
		vfree(zone_device_want);

	return err;
}

static void zone_device_suite_exit(struct kunit_suite *suite)
{
	zone_device_set_method(zone_device_found);
	device_memory_put(&zone_device_memory);
	vfree(zone_device_want);
}

static struct kunit_case zone_device_cases[] = {
	KUNIT_CASE(zone_device_names),
	KUNIT_CASE_PARAM(zone_device_same_image, zone_device_gen_params),
	KUNIT_CASE_PARAM(zone_device_same_over_sections, zone_device_gen_params),
	KUNIT_CASE_PARAM(zone_device_empty, zone_device_gen_params),
	KUNIT_CASE_PARAM(zone_device_kunit_publication, zone_device_gen_params),
#ifdef CONFIG_DEBUG_PAGE_REF
	KUNIT_CASE(zone_device_kunit_traced),
	KUNIT_CASE_PARAM(zone_device_kunit_traced_now_and_then, zone_device_gen_params),
#endif
	{}
};

static struct kunit_suite zone_device_suite = {
	.name		= "zone_device",
	.suite_init	= zone_device_suite_init,
	.suite_exit	= zone_device_suite_exit,
	.test_cases	= zone_device_cases,
};

kunit_test_suite(zone_device_suite);
