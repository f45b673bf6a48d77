// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bounded proof of how mm/mm_init.c divides a range among CPUs.
 *
 * What memmap.c proves of zone_device_write() is taken for granted: it is replaced by
 * write_chunk(). As there, one descriptor is the witness for all of them.
 *
 * Two other CPUs can help. Each begins before any chunk that the caller takes, or before the
 * caller waits for it, or not at all. It then takes all chunks that are left.
 */

#define PAGES		16UL
#define CPUS		3U

#include "kernel.h"

enum { UNKNOWN, FILLED };

/* The range, and the witness. */
static unsigned long start_pfn, end_pfn, witness;
static unsigned int writes;

unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap)
{
	return STEP;
}

/* zone_device_write() and what it calls are not of interest here. */
#define memcpy_streaming_ok(to, bytes) true
#define memcpy_streaming(to, from, bytes) ((void)(to))
#define memcpy_streaming_drain() ((void)0)
#define __init_zone_device_page(page, pfn, zone_idx, nid, pgmap) ((void)0)
#define set_compound_head(tail, head, order) ((void)0)
#define prep_compound_tail(tail, head, order) ((void)0)
#define set_page_count(page, count) ((void)0)
#define __SetPageHead(head)	((void)0)
#define prep_compound_head(head, order) ((void)0)

struct zone_device_run;
static void copy_run(struct zone_device_run *to, const struct zone_device_run *from, size_t bytes);

static void copy_page_image(struct page *to, const struct page *from, size_t bytes)
{
}

#define memcpy(to, from, bytes) \
	_Generic((to), struct page *: copy_page_image, struct zone_device_run *: copy_run) \
	(to, from, bytes)

static struct work_struct *waiting[CPUS];
static bool is_elsewhere;

static void zone_device_help(struct work_struct *work);

static void queue_work_on(unsigned int cpu, void *queue, struct work_struct *work)
{
	prove(cpu != raw_smp_processor_id(), "no work item waits for the CPU that waits for it");
	prove(!waiting[cpu], "a CPU gets one work item");
	work->queued = true;
	waiting[cpu] = work;
}

/* Let other CPUs begin, or not. */
static void maybe_help(void)
{
	struct work_struct *work;
	unsigned int cpu;

	for (cpu = 1; cpu < CPUS; cpu++) {
		work = waiting[cpu];
		if (is_elsewhere || !work || !nondet_bool())
			continue;
		waiting[cpu] = NULL;
		is_elsewhere = true;
		zone_device_help(work);
		is_elsewhere = false;
		work->queued = false;
	}
}

static unsigned long atomic_long_fetch_add(unsigned long number, atomic_long_t *at)
{
	unsigned long old;

	maybe_help();
	old = at->value;
	at->value += number;
	return old;
}

static void cancel_work_sync(struct work_struct *work)
{
	unsigned int cpu;

	maybe_help();
	for (cpu = 1; cpu < CPUS; cpu++)
		waiting[cpu] = waiting[cpu] == work ? NULL : waiting[cpu];
	work->queued = false;
}

#include "mm/mm_init.c"

static void copy_run(struct zone_device_run *to, const struct zone_device_run *from, size_t bytes)
{
	prove(bytes == sizeof(*to), "a CPU gets both templates");
	*to = *from;
}

/* Takes the place of zone_device_write(). */
void write_chunk(struct zone_device_run *run, unsigned long pfn, unsigned long end)
{
	prove(pfn >= start_pfn && pfn < end && end <= end_pfn, "a chunk is in the range");
	prove(!OFFSET(pfn) && !OFFSET(end), "no compound is cut");
	prove(run->head.image == FILLED && run->tail.image == FILLED, "a CPU has the templates");
	writes += witness >= pfn && witness < end;
}

int main(void)
{
	struct dev_pagemap pgmap = { .vmemmap_shift = ORDER };
	struct zone_device_run run = {
		.pgmap = &pgmap, .head.image = FILLED, .tail.image = FILLED,
	};

	start_pfn = nondet_ulong();
	end_pfn = nondet_ulong();
	witness = nondet_ulong();
	zone_device_cpus = nondet_uint();
	assume(start_pfn < end_pfn && end_pfn <= PAGES && witness < PAGES);
	assume(!OFFSET(start_pfn) && !OFFSET(end_pfn));

	zone_device_write_all(&run, start_pfn, end_pfn, 0);

	prove(writes == (witness >= start_pfn && witness < end_pfn),
	      "each descriptor of the range is written once, and no other");
	return 0;
}
