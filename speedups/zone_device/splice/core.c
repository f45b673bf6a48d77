// SPDX-License-Identifier: GPL-2.0-only
// Precedes memmap_init_zone_device() in mm/mm_init.c.

/* From this size of the memmap on, stream it: a smaller one may be in the cache. */
#define ZONE_DEVICE_LARGE	SZ_64M

/*
 * prep_compound_head() stores the state of a folio in the head and the first two tails.
 * These get plain stores, so nothing must be drained before it reads them.
 */
#define ZONE_DEVICE_PREPARED	3UL
static_assert(offsetofend(struct folio, _deferred_list) <=
	      ZONE_DEVICE_PREPARED * sizeof(struct page));

/* The slow functions check that their argument is in the memmap, so they never get these. */
struct zone_device_run {
	struct dev_pagemap *pgmap;
	struct page head;
	struct page tail;
};

static void zone_device_stream(struct page *page, const struct page *tmpl, unsigned long nr)
{
	for (; nr; nr--, page++)
		memcpy_streaming(page, tmpl, sizeof(*page));
}

static void zone_device_compound(struct zone_device_run *run, unsigned long pfn)
{
	struct dev_pagemap *pgmap = run->pgmap;
	unsigned long nr = compound_nr_pages(pfn, pgmap_altmap(pgmap), pgmap), i;
	struct page *head = pfn_to_page(pfn);

	/* Each compound has other tails, except where they hold a mask in place of the head. */
	set_compound_head(&run->tail, head, pgmap->vmemmap_shift);

	memcpy(head, &run->head, sizeof(*head));
	__SetPageHead(head);
	for (i = 1; i < min(nr, ZONE_DEVICE_PREPARED); i++)
		memcpy(head + i, &run->tail, sizeof(*head));
	prep_compound_head(head, pgmap->vmemmap_shift);

	zone_device_stream(head + i, &run->tail, nr - i);
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
			zone_device_stream(pfn_to_page(pfn), &run->head, next - pfn);
	}

	/* The caller's barriers do not order streaming stores. */
	memcpy_streaming_drain();
}

/* Returns the first PFN that is left to the slow path: @end_pfn or @start_pfn. */
static unsigned long __ref zone_device_memmap_init(unsigned long start_pfn, unsigned long end_pfn,
						   unsigned long zone_idx, int nid,
						   struct dev_pagemap *pgmap)
{
	struct zone_device_run run = { .pgmap = pgmap };
	struct page *head = pfn_to_page(start_pfn);
	unsigned long bytes;

	/* There is nothing to make a template of, or each struct page must raise an event. */
	if (start_pfn >= end_pfn || page_ref_tracepoint_active(page_ref_set))
		return start_pfn;

	/* Few struct pages are written if compounds share their tails. */
	bytes = DIV_ROUND_UP(end_pfn - start_pfn, pgmap_vmemmap_nr(pgmap)) * sizeof(*head) *
		compound_nr_pages(start_pfn, pgmap_altmap(pgmap), pgmap);
	if (bytes < ZONE_DEVICE_LARGE || !memcpy_streaming_ok(head, sizeof(*head)))
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
