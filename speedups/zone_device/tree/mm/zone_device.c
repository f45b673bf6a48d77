// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initialise the memmap of device memory from templates.
 *
 * All descriptors (struct pages) that one call of memmap_init_zone_device() writes are
 * copies of two: one for heads (or for all pages without compounds), and one for the
 * tails of a compound. prep_compound_head() adds the state of a folio to the first
 * tails. The kernel's own functions make one descriptor of each kind in place, and all
 * others are copied from it, padding included.
 */

#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/page_ref.h>
#include <linux/sched.h>

#include "internal.h"

/*
 * Stores alone do not make every CPU fetch the next lines of a memmap that is not in the
 * cache, though the loads of the slow path do. So prefetch, even past the memmap's end:
 * on x86, prefetch() would bypass the cache, and prefetchw() gains less on some CPUs.
 * On AMD Zen 4, half as far gains much less, and a multiple of 4 KiB takes longer where
 * the memmap is in the cache.
 */
#define ZONE_DEVICE_AHEAD	112

/* prep_compound_head() stores the state of a folio in the head and the first two tails. */
#define ZONE_DEVICE_PREPARED	3UL

/* The slow functions check that their argument is in the memmap, so they never get these. */
struct zone_device_run {
	struct dev_pagemap *pgmap;
	struct page head;
	struct page tail;
};

static void zone_device_copy(struct page *page, const struct page *tmpl, unsigned long nr)
{
	for (; nr; nr--, page++) {
		__builtin_prefetch(page + ZONE_DEVICE_AHEAD);
		memcpy(page, tmpl, sizeof(*page));
	}
}

static void zone_device_compound(struct zone_device_run *run, unsigned long pfn)
{
	struct dev_pagemap *pgmap = run->pgmap;
	unsigned long nr = compound_nr_pages(pfn, pgmap_altmap(pgmap), pgmap), i;
	struct page *head = pfn_to_page(pfn);

	set_compound_head(&run->tail, head, pgmap->vmemmap_shift);

	memcpy(head, &run->head, sizeof(*head));
	__SetPageHead(head);
	for (i = 1; i < min(nr, ZONE_DEVICE_PREPARED); i++)
		memcpy(head + i, &run->tail, sizeof(*head));
	prep_compound_head(head, pgmap->vmemmap_shift);

	zone_device_copy(head + i, &run->tail, nr - i);
}

/* Write a range that starts with a head. */
static void zone_device_write(struct zone_device_run *run, unsigned long pfn, unsigned long end_pfn)
{
	unsigned long step = pgmap_vmemmap_nr(run->pgmap), next;

	for (; pfn < end_pfn; pfn = next) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION))
			cond_resched();

		next = step > 1 ? pfn + step : min(end_pfn, ALIGN(pfn + 1, PAGES_PER_SECTION));
		if (step > 1)
			zone_device_compound(run, pfn);
		else
			zone_device_copy(pfn_to_page(pfn), &run->head, next - pfn);
	}
}

/**
 * zone_device_memmap_init - write the descriptors of a range of device memory
 * @start_pfn: first PFN of the range, after the memory that an altmap uses
 * @end_pfn: PFN after the range
 * @zone_idx: ZONE_DEVICE
 * @nid: node of the memory
 * @pgmap: type, altmap and compound order of the memory
 *
 * Context: process context, may sleep. On return, all stores are ordered like plain ones.
 * Return: the first PFN that is left to the slow path: @end_pfn or @start_pfn.
 */
unsigned long zone_device_memmap_init(unsigned long start_pfn, unsigned long end_pfn,
				      unsigned long zone_idx, int nid, struct dev_pagemap *pgmap)
{
	struct zone_device_run run = { .pgmap = pgmap };
	struct page *head = pfn_to_page(start_pfn);

#if defined(WANT_PAGE_VIRTUAL) || defined(SECTION_IN_PAGE_FLAGS)
	/* Each descriptor holds its own address or section. */
	return start_pfn;
#endif
	/* There is no descriptor to make a template of, or each must raise an event. */
	if (start_pfn >= end_pfn || page_ref_tracepoint_active(page_ref_set))
		return start_pfn;

	/* Copied before the compound is prepared: the template must not have PG_head. */
	__init_zone_device_page(head, start_pfn, zone_idx, nid, pgmap);
	memcpy(&run.head, head, sizeof(run.head));

	/* Copied before the head is prepared, because that stores into this tail. */
	if (pgmap_vmemmap_nr(pgmap) > 1) {
		__init_zone_device_page(head + 1, start_pfn + 1, zone_idx, nid, pgmap);
		prep_compound_tail(head + 1, head, pgmap->vmemmap_shift);
		set_page_count(head + 1, 0);
		memcpy(&run.tail, head + 1, sizeof(run.tail));
	}

	zone_device_write(&run, start_pfn, end_pfn);

	return end_pfn;
}
