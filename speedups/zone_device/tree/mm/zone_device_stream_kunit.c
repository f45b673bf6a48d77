// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare a memmap that memmap_init_zone_device() streams with that of its slow path.
 *
 * Only a memmap of 64 MiB or more is streamed. So the same struct pages are written twice, in
 * pieces and as a whole, and must be identical. Those around the range must not change.
 */

#include <kunit/test.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "device_memory_kunit.h"

#define POISON		0x5a
#define AROUND		512UL	/* struct pages before and after the range */
#define PIECE		PAGES_PER_SECTION
#define LENGTH		(ALIGN(SZ_64M / sizeof(struct page), PIECE) + PIECE / 2)
#define BYTES		((LENGTH + 2 * AROUND) * sizeof(struct page))

static struct device_memory stream_memory;
static struct dev_pagemap stream_pgmap;
static void *stream_want;

struct stream_kind {
	const char *name;
	enum memory_type type;
	unsigned int order;
};

static const struct stream_kind stream_kinds[] = {
	{ "private",	MEMORY_DEVICE_PRIVATE },
	{ "coherent",	MEMORY_DEVICE_COHERENT },
	{ "fsdax",	MEMORY_DEVICE_FS_DAX },
	{ "generic",	MEMORY_DEVICE_GENERIC },
	{ "p2pdma",	MEMORY_DEVICE_PCI_P2PDMA },
	{ "fsdax-1",	MEMORY_DEVICE_FS_DAX, 1 },
	{ "private-2",	MEMORY_DEVICE_PRIVATE, 2 },
	{ "generic-9",	MEMORY_DEVICE_GENERIC, 9 },
};

KUNIT_ARRAY_PARAM_DESC(stream, stream_kinds, name);

static void stream_write(unsigned long at, unsigned long nr)
{
	const unsigned long pfn = stream_memory.pfn + AROUND + at;

	/* After an altmap, all struct pages of a compound are written. This one has no pages. */
	stream_pgmap.altmap.base_pfn = pfn;
	memmap_init_zone_device(stream_memory.zone, pfn, nr, &stream_pgmap);
}

static void zone_device_stream_same_image(struct kunit *test)
{
	const struct stream_kind *kind = test->param_value;
	const unsigned long nr = kind->order ? LENGTH : LENGTH - 5;
	void *got = pfn_to_page(stream_memory.pfn);
	unsigned long at;
	int differs;

	stream_pgmap.type = kind->type;
	stream_pgmap.vmemmap_shift = kind->order;
	stream_pgmap.flags = PGMAP_ALTMAP_VALID;

	memset(got, POISON, BYTES);
	for (at = 0; at < nr; at += PIECE)
		stream_write(at, min(PIECE, nr - at));
	memcpy(stream_want, got, BYTES);

	memset(got, POISON, BYTES);
	stream_write(0, nr);
	differs = memcmp(got, stream_want, BYTES);
	KUNIT_EXPECT_EQ(test, differs, 0);
}

static int zone_device_stream_init(struct kunit_suite *suite)
{
	int err;

	stream_want = vmalloc(BYTES);
	if (!stream_want)
		return -ENOMEM;

	err = device_memory_get(&stream_memory, ALIGN(LENGTH + 2 * AROUND, PAGES_PER_SECTION));
	if (err)
		vfree(stream_want);

	return err;
}

static void zone_device_stream_exit(struct kunit_suite *suite)
{
	device_memory_put(&stream_memory);
	vfree(stream_want);
}

static struct kunit_case zone_device_stream_cases[] = {
	KUNIT_CASE_PARAM(zone_device_stream_same_image, stream_gen_params),
	{}
};

static struct kunit_suite zone_device_stream_suite = {
	.name		= "zone_device_stream",
	.suite_init	= zone_device_stream_init,
	.suite_exit	= zone_device_stream_exit,
	.test_cases	= zone_device_stream_cases,
};

kunit_test_suite(zone_device_stream_suite);
