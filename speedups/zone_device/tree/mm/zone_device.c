// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initialise the memmap of device memory in batches.
 *
 * All descriptors (struct pages) that one call of memmap_init_zone_device() writes
 * are copies of very few images. There is one for heads (or for all pages if there
 * are no compounds), and one for the tails of a compound. The first one or two tails
 * also hold state of the folio, which prep_compound_head() stores in each compound.
 * The kernel's own slow functions make each image once, in place, on a real
 * descriptor. All other descriptors are copied from it.
 *
 * - Bytes: the memmap is identical to that of the slow path, including padding.
 * - Bounds: the same descriptors are written as by the slow path, and no others.
 *   Those of an altmap's own memory lie before the range and stay as
 *   memmap_init_range() made them.
 * - Ordering: when zone_device_memmap_init() returns, all descriptors are ordered
 *   like plain stores of this CPU, even if they were streamed. Publishing the
 *   range needs the same barriers as after the slow path.
 * - Sleeping: may reschedule at section boundaries, as the slow path does.
 * - Fallback: the slow path runs while the page_ref_set tracepoint is enabled,
 *   because copying a refcount raises no event, and in KASAN and KMSAN builds,
 *   because these cannot see streaming stores.
 */

#include "zone_device_internal.h"

/*
 * The head and the first two tails are stored through the cache, because preparing
 * a compound reads and changes them. If they had just been streamed, their lines
 * would be fetched from memory again.
 */
#define ZONE_DEVICE_PLAIN		3UL

/* The cost of a compound besides its streamed tails, as a number of descriptors. */
#define ZONE_DEVICE_COMPOUND_COST	16UL

/* Leave the state that the method needs, so that the caller may sleep. */
static void zone_device_pause(struct zone_device_run *run)
{
	if (run->begun && run->method->end)
		run->method->end();
	run->begun = false;
	run->credit = 0;
}

/* Enter that state, for at most ZONE_DEVICE_BATCH descriptors. */
static void zone_device_resume(struct zone_device_run *run)
{
	if (run->method->begin)
		run->method->begin();
	run->begun = true;
	run->credit = ZONE_DEVICE_BATCH;
}

/* Store what depends on the PFN in the template, so that each descriptor is written once. */
static void zone_device_refresh(struct page *tmpl, unsigned long pfn)
{
	set_page_section_from_pfn(tmpl, pfn);
#ifdef WANT_PAGE_VIRTUAL
	set_page_address(tmpl, __va(PFN_PHYS(pfn)));
#endif
}

/* Write @nr copies of @tmpl from @page on, in batches. */
static void zone_device_stamp(struct zone_device_run *run, struct page *page,
			      struct page *tmpl, unsigned long nr)
{
	unsigned long n;

	if (ZONE_DEVICE_DESCRIPTORS_DIFFER) {
		for (; nr; nr--, page++) {
			zone_device_refresh(tmpl, page_to_pfn(page));
			memcpy(page, tmpl, sizeof(*page));
		}
		return;
	}

	for (; nr; nr -= n, page += n) {
		if (!run->credit) {
			zone_device_pause(run);
			zone_device_resume(run);
		}
		n = min(nr, run->credit);
		run->method->stamp(page, tmpl, n);
		run->credit -= n;
	}
}

/* Write one copy of @tmpl with plain stores. */
static void zone_device_put(struct page *page, struct page *tmpl)
{
	zone_device_refresh(tmpl, page_to_pfn(page));
	memcpy(page, tmpl, sizeof(*page));
}

static void zone_device_fill_compound(struct zone_device_run *run,
				      unsigned long pfn, unsigned long nr)
{
	struct page *head = pfn_to_page(pfn);
	unsigned int order = run->pgmap->vmemmap_shift;
	unsigned long meta = min(nr, ZONE_DEVICE_META_TAILS + 1);
	unsigned long plain = min(nr, ZONE_DEVICE_PLAIN);
	unsigned long i;

	/* The next compound's, since its first pages are not streamed, but read. */
	for (i = 0; i < plain; i++)
		__builtin_prefetch(head + pgmap_vmemmap_nr(run->pgmap) + i);

	zone_device_link_tail(&run->tail, head, order);

	zone_device_put(head, &run->head);
	__SetPageHead(head);
	for (i = 1; i < meta; i++)
		zone_device_put(head + i, &run->tail);
	prep_compound_head(head, order);
	for (; i < plain; i++)
		zone_device_put(head + i, &run->tail);
	run->credit -= min(run->credit, ZONE_DEVICE_COMPOUND_COST);

	zone_device_stamp(run, head + plain, &run->tail, nr - plain);
	zone_device_mark_pageblocks(pfn, nr);
}

static void zone_device_fill_compounds(struct zone_device_run *run,
				       unsigned long pfn, unsigned long end_pfn)
{
	struct dev_pagemap *pgmap = run->pgmap;
	struct vmem_altmap *altmap = pgmap_altmap(pgmap);

	for (; pfn < end_pfn; pfn += pgmap_vmemmap_nr(pgmap)) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION)) {
			zone_device_pause(run);
			cond_resched();
		}
		zone_device_fill_compound(run, pfn,
					  zone_device_compound_nr(pfn, altmap, pgmap));
	}
}

static void zone_device_fill_pages(struct zone_device_run *run,
				   unsigned long pfn, unsigned long end_pfn)
{
	unsigned long next;

	for (; pfn < end_pfn; pfn = next) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION)) {
			zone_device_pause(run);
			cond_resched();
		}
		next = min(end_pfn, ALIGN(pfn + 1, PAGES_PER_SECTION));
		zone_device_stamp(run, pfn_to_page(pfn), &run->head, next - pfn);
		zone_device_mark_pageblocks(pfn, next - pfn);
	}
}

/* Let the slow functions make one descriptor of each kind, and copy it to the template. */
static void zone_device_seed(struct zone_device_run *run, unsigned long pfn,
			     unsigned long zone_idx, int nid)
{
	struct page *head = pfn_to_page(pfn);

	/* Copied before the compound is prepared: the template must not have PG_head. */
	__init_zone_device_page(head, pfn, zone_idx, nid, run->pgmap);
	memcpy(&run->head, head, sizeof(run->head));

	if (pgmap_vmemmap_nr(run->pgmap) == 1)
		return;

	/* Copied before the head is prepared, because that stores into this tail. */
	__init_zone_device_page(head + 1, pfn + 1, zone_idx, nid, run->pgmap);
	zone_device_prep_tail(head, 1, run->pgmap->vmemmap_shift);
	set_page_count(head + 1, 0);
	memcpy(&run->tail, head + 1, sizeof(run->tail));
}

/**
 * zone_device_memmap_init - write the descriptors of a range of device memory
 * @start_pfn: first PFN of the range, after the memory that an altmap uses
 * @end_pfn: PFN after the range
 * @zone_idx: ZONE_DEVICE
 * @nid: node of the memory
 * @pgmap: type, altmap and compound order of the memory
 *
 * The caller, memmap_init_zone_device(), has checked @zone_idx and @pgmap. The
 * memmap of the range is mapped and not in use yet.
 *
 * Context: process context, may sleep.
 * Return: the first PFN that is left to the slow path: @end_pfn if the range is
 * complete, or @start_pfn if the slow path must write all of it or it is empty.
 */
unsigned long zone_device_memmap_init(unsigned long start_pfn,
				      unsigned long end_pfn,
				      unsigned long zone_idx, int nid,
				      struct dev_pagemap *pgmap)
{
	struct zone_device_run run = { .pgmap = pgmap };

	/* For an empty range, the templates would be made on descriptors after its end. */
	if (start_pfn >= end_pfn)
		return start_pfn;

	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN))
		return start_pfn;

	if (page_ref_tracepoint_active(page_ref_set) || zone_device_is_off())
		return start_pfn;

	zone_device_seed(&run, start_pfn, zone_idx, nid);
	run.method = zone_device_choose(pgmap, start_pfn, end_pfn);
	if (pgmap_vmemmap_nr(pgmap) > 1)
		zone_device_fill_compounds(&run, start_pfn, end_pfn);
	else
		zone_device_fill_pages(&run, start_pfn, end_pfn);
	zone_device_pause(&run);

	/* The caller's barriers do not order streaming stores. */
	if (run.method->streaming)
		memcpy_streaming_drain();

	return end_pfn;
}
