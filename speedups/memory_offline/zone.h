/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZONE_H
#define ZONE_H

/* A zone of memory that is online, and free or in use page by page. For bench.c and check.c. */

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-isolation.h>

#include "hosted.h"

/* Memory starts here. */
#define FIRST_PFN	0x1000000UL

/* Who uses a page that is not free, or what is wrong with it. */
enum memory_use {
	USED_LRU,		/* it can be migrated */
	USED_KERNEL,		/* it can't */
	USED_RESERVED,
	ZONE_HELD,		/* free, but not in the page allocator's lists */
	USED_POISONED,
	USED_OFFLINE,		/* a driver has it, which agrees that it goes */
	USED_OFFLINE_HELD,	/* and one that does not */
	USED_KINDS
};

/* Why memory is isolated. */
enum memory_why { MEMORY_WHY_OFFLINE, MEMORY_WHY_CMA, MEMORY_WHY_OTHER, MEMORY_WHYS };

void memory_init(void *memmap, unsigned long nr_pages);
void memory_begin(enum zone_type type);
void memory_block(unsigned long pfn, enum migratetype type);
void memory_free(unsigned long pfn, unsigned int order);
void memory_use(unsigned long pfn, enum memory_use use);
void memory_folio(unsigned long pfn, unsigned int order, bool lru);

int memory_isolate(enum hosted_side side, unsigned long start, unsigned long end,
		   enum memory_why why);
void memory_undo(enum hosted_side side, unsigned long start, unsigned long end);
int memory_scan(enum hosted_side side, unsigned long start, unsigned long end,
		unsigned long *found);

/* What isolation leaves besides the memmap. */
struct memory_state {
	struct zone zone;
	unsigned long blocks;	/* a sum of the types of all pageblocks */
	long counts;
	unsigned long reported;	/* the page that was in the way */
};

void memory_read(struct memory_state *state);

#endif /* ZONE_H */
