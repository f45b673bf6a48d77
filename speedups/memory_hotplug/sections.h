/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SECTIONS_H
#define SECTIONS_H

/*
 * A machine whose memory comes and goes: sections, nodes with zones, and the calls of
 * kernel code that add memory to a zone or remove it. Shared by bench.c and check.c.
 */

#include <linux/memory_hotplug.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

#include "hosted.h"

#define SECTIONS_NODES	20

/* Enough for the bitmap of a section, whose pageblocks are of 2 MiB and have up to 8 bits. */
#define SECTIONS_BITMAP	64

/* Sections whose state can be read at once. */
#define SECTIONS_READ	3

/* Memory starts here. */
#define FIRST_PFN	0x1000000UL

void sections_init(void *memmap, unsigned long nr);
void sections_empty(void);
void section_present(unsigned long pfn, bool early);
void section_absent(unsigned long pfn);
void section_taint(unsigned long pfn);
unsigned long sections_looked(void);
void section_hole(unsigned long pfn, bool hole);
bool section_is_hole(unsigned long pfn);
void section_device(unsigned long pfn, bool device);
void sections_online(unsigned long pfn, unsigned long nr_pages, bool online);

/* The state of memory besides its struct pages: pageblocks, zones, counts, reports. */
struct sections_state {
	unsigned long bitmaps[SECTIONS_READ][SECTIONS_BITMAP / sizeof(long)];
	struct zone zones[SECTIONS_NODES][2];	/* ZONE_NORMAL and ZONE_MOVABLE */
	long counts[5];
};

void sections_zero_counts(void);
void sections_read(struct sections_state *state, unsigned long pfn, unsigned int nr);
void sections_checks(enum hosted_side side, bool on);

struct zone *sections_zone(unsigned int nid, enum zone_type type);
void sections_add(enum hosted_side side, struct zone *zone, unsigned long pfn,
		  unsigned long nr_pages);
void sections_add_as(enum hosted_side side, struct zone *zone, unsigned long pfn,
		     unsigned long nr_pages, struct vmem_altmap *altmap,
		     enum migratetype migratetype, bool isolate);
void sections_free_order(enum hosted_side side, unsigned long pfn, unsigned int order);
void sections_free(enum hosted_side side, unsigned long pfn, unsigned long nr_pages);
void sections_remove(enum hosted_side side, struct zone *zone, unsigned long pfn,
		     unsigned long nr_pages);
bool sections_scan(struct zone *zone);

#endif /* SECTIONS_H */
