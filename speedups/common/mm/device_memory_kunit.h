/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_DEVICE_MEMORY_KUNIT_H
#define _MM_DEVICE_MEMORY_KUNIT_H

/* Struct pages that nothing else uses, for KUnit tests: device memory at unused addresses. */

#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/string.h>

struct device_memory {
	struct dev_pagemap pgmap;
	struct zone *zone;	/* NULL if there is no memory */
	unsigned long pfn;
	unsigned long nr_pages;
};

/* Make @nr_pages pages of it, which are whole sections. */
static inline int device_memory_get(struct device_memory *memory, unsigned long nr_pages)
{
	const resource_size_t end = 1ULL << MAX_PHYSMEM_BITS, size = PFN_PHYS(nr_pages);
	static const char name[] = "device_memory_kunit";
	struct resource *found;
	void *map;

	/* If these addresses have no section, take the highest that have. */
	found = request_free_mem_region(&iomem_resource, size, name);
	if (!IS_ERR(found) && found->end >= end) {
		release_mem_region(found->start, size);
		found = request_mem_region(end - size, size, name) ?: ERR_PTR(-EBUSY);
	}
	if (IS_ERR(found))
		return PTR_ERR(found);

	memset(&memory->pgmap, 0, sizeof(memory->pgmap));
	memory->pgmap.type = MEMORY_DEVICE_GENERIC;
	memory->pgmap.range.start = found->start;
	memory->pgmap.range.end = found->end;
	memory->pgmap.nr_range = 1;
	map = memremap_pages(&memory->pgmap, NUMA_NO_NODE);
	if (IS_ERR(map)) {
		release_mem_region(found->start, size);
		return PTR_ERR(map);
	}
	memory->pfn = PHYS_PFN(found->start);
	memory->nr_pages = nr_pages;
	memory->zone = page_zone(pfn_to_page(memory->pfn));

	return 0;
}

static inline void device_memory_put(struct device_memory *memory)
{
	if (!memory->zone)
		return;
	/* The tests have left anything in the struct pages. */
	memmap_init_zone_device(memory->zone, memory->pfn, memory->nr_pages, &memory->pgmap);
	memunmap_pages(&memory->pgmap);
	release_mem_region(PFN_PHYS(memory->pfn), PFN_PHYS(memory->nr_pages));
	memory->zone = NULL;
}

#endif /* _MM_DEVICE_MEMORY_KUNIT_H */
