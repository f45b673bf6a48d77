/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_KUNIT_H
#define _MM_ZONE_DEVICE_KUNIT_H

#include <linux/memremap.h>
#include <linux/types.h>

struct kunit;
struct page;

/* Struct pages before and after a range, which must not be written. */
#define CANARIES	64UL

/* A range of the scratch memmap, and the memory to compare, canaries included. */
struct zone_device_window {
	unsigned long pfn;
	unsigned long nr;
	struct page *from;
	size_t bytes;
};

/* zone_device_kunit.c: the scratch memmap. */
struct zone_device_window zone_device_kunit_window(unsigned long at,
						   unsigned long nr);
void zone_device_kunit_describe(enum memory_type type, unsigned int shift,
				unsigned long at, unsigned long offset);
void zone_device_kunit_init(const struct zone_device_window *window);
void zone_device_kunit_expect(struct kunit *test,
			      const struct zone_device_window *window);
bool zone_device_kunit_same(const struct zone_device_window *window);
void zone_device_kunit_choose(struct kunit *test);

/* zone_device_kunit_concurrent.c: tests with a concurrent reader or tracer. */
void zone_device_kunit_publication(struct kunit *test);
void zone_device_kunit_traced(struct kunit *test);
void zone_device_kunit_traced_now_and_then(struct kunit *test);

#endif /* _MM_ZONE_DEVICE_KUNIT_H */
