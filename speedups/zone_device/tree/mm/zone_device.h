/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_H
#define _MM_ZONE_DEVICE_H

#include <linux/types.h>

struct dev_pagemap;
struct page;
struct vmem_altmap;

/**
 * struct zone_device_method - one way to replicate a descriptor over the memmap
 * @name: its name in the parameter, the log, the tests and the benchmark
 * @streaming: the stores bypass the cache and must be drained
 * @usable: whether it supports this size of struct page
 * @ready: whether it supports the current context; NULL if it supports any
 * @begin: enter the state that @stamp needs, or NULL. It may disable preemption
 *	   and softirqs: at most ZONE_DEVICE_BATCH descriptors are written before
 *	   @end, and nothing in between sleeps.
 * @stamp: write @nr copies of @tmpl, at least one, starting at @page
 * @end: leave that state, or NULL
 */
struct zone_device_method {
	const char *name;
	bool streaming;
	bool usable;
	bool (*ready)(void);
	void (*begin)(void);
	void (*stamp)(struct page *page, const struct page *tmpl,
		      unsigned long nr);
	void (*end)(void);
};

/*
 * 64 KiB of 64-byte descriptors. At 0.7 GB/s or more, writing them takes less than
 * 100 us, which is still much longer than @begin and @end take.
 */
#define ZONE_DEVICE_BATCH	1024UL

unsigned long zone_device_memmap_init(unsigned long start_pfn,
				      unsigned long end_pfn,
				      unsigned long zone_idx, int nid,
				      struct dev_pagemap *pgmap);
int zone_device_set_method(const char *name);
const char *zone_device_method(void);

/* In mm_init.c: the slow functions, which make the templates. */
void __init_zone_device_page(struct page *page, unsigned long pfn,
			     unsigned long zone_idx, int nid,
			     struct dev_pagemap *pgmap);
unsigned long zone_device_compound_nr(unsigned long pfn,
				      struct vmem_altmap *altmap,
				      struct dev_pagemap *pgmap);

#endif /* _MM_ZONE_DEVICE_H */
