// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bounded proof of which descriptors mm/mm_init.c writes, and with what.
 *
 * The memmap has few descriptors, in short sections. Nothing is stored in it. Instead, one
 * of its descriptors, the witness, is chosen arbitrarily, and this records what happens to
 * that one. So what holds for the witness holds for every descriptor.
 *
 * It covers every start and length, compounds of up to two sections, memmaps in which
 * compounds share their tails, and both ways to write.
 */

#define PAGES		16UL
#define CPUS		1U
#define SHARED		4UL	/* descriptors of a compound that shares its tails */

#include "kernel.h"

enum { UNKNOWN, SLOW, LINKED, TAIL };	/* a tail is linked, and then has no reference */

static struct page seed;
static unsigned long seed_pfn;

/* The range, and the witness. */
static unsigned long start_pfn, end_pfn, early_end, witness;
static unsigned int writes;
static bool is_head, is_prepared, is_streamed, is_undrained;

/* Descriptors of a compound that have memory of their own. */
static unsigned long own_nr(unsigned long head)
{
	return head < early_end ? STEP : min(STEP, SHARED);
}

unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap)
{
	return own_nr(pfn);
}

static bool is_ours(unsigned long pfn)
{
	return pfn >= start_pfn && pfn < end_pfn && OFFSET(pfn) < own_nr(HEAD(pfn));
}

static void write(struct page *page, const struct page *from, bool streams)
{
	unsigned long pfn = page_to_pfn(page);

	prove(is_ours(pfn), "only descriptors of the range are written");
	prove(from->image != UNKNOWN, "a template is filled before it is copied");
	prove(from->image == (OFFSET(pfn) ? TAIL : SLOW), "heads and tails get their own template");
	prove(!streams || STEP == 1 || OFFSET(pfn) > 2, "what a compound changes is not streamed");
	is_undrained |= streams;
	if (pfn != witness)
		return;
	prove(!is_prepared, "no state of a folio is overwritten");
	prove(!OFFSET(pfn) || from->head == HEAD(pfn), "a tail points to its head");
	is_streamed = streams;
	writes++;
}

/* memcpy() of a descriptor: into the memmap, or from there into a template. */
static void copy_page_image(struct page *to, const struct page *from, size_t bytes)
{
	prove(bytes == sizeof(*to), "a whole descriptor is copied");
	if (__CPROVER_same_object(to, memmap)) {
		write(to, from, false);
		return;
	}
	prove(page_to_pfn(from) == seed_pfn && seed_pfn >= start_pfn && seed_pfn < end_pfn,
	      "a template comes from the descriptor that the slow path made last");
	*to = seed;
}

struct zone_device_run;
static void copy_run(struct zone_device_run *to, const struct zone_device_run *from, size_t bytes);

#define memcpy(to, from, bytes) \
	_Generic((to), struct page *: copy_page_image, struct zone_device_run *: copy_run) \
	(to, from, bytes)
#define memcpy_streaming_ok(to, bytes) true
#define memcpy_streaming(to, from, bytes) write(to, from, true)
#define memcpy_streaming_drain() (is_undrained = false)

/* The slow path makes a descriptor in place. */
void __init_zone_device_page(struct page *page, unsigned long pfn, unsigned long zone_idx,
			     int nid, struct dev_pagemap *pgmap)
{
	prove(page_to_pfn(page) == pfn && is_ours(pfn), "a seed is in the range");
	seed_pfn = pfn;
	seed.image = SLOW;
}

static void set_compound_head(struct page *tail, struct page *head, unsigned int order)
{
	tail->head = page_to_pfn(head);
}

static void prep_compound_tail(struct page *tail, struct page *head, unsigned int order)
{
	prove(page_to_pfn(tail) == seed_pfn, "the seed becomes a tail");
	seed.image = LINKED;
	seed.head = page_to_pfn(head);
}

static void set_page_count(struct page *page, int count)
{
	prove(page_to_pfn(page) == seed_pfn && seed.image == LINKED && count == 0,
	      "the template of tails has no reference");
	seed.image = TAIL;
}

static void __SetPageHead(struct page *head)
{
	unsigned long pfn = page_to_pfn(head);

	prove(is_ours(pfn) && OFFSET(pfn) == 0 && STEP > 1, "only a head is marked");
	if (pfn != witness)
		return;
	prove(writes, "a head is written before it is marked");
	is_head = true;
}

static void prep_compound_head(struct page *head, unsigned int order)
{
	unsigned long pfn = page_to_pfn(head);

	prove(1UL << order == STEP && OFFSET(pfn) == 0, "a whole compound is prepared");
	if (witness < pfn || witness > pfn + 2 || witness >= pfn + STEP)
		return;
	prove(writes, "what the folio changes is written before");
	prove(!is_streamed, "what the folio changes is in the cache");
	is_prepared = true;
}

/* There is one CPU here. chunks.c is about more of them. */
#define queue_work_on(cpu, queue, work) prove(false, "no work item is queued")
#define cancel_work_sync(work)	((void)0)
#define atomic_long_fetch_add(number, at) ((at)->value)

#include "mm/mm_init.c"

static void copy_run(struct zone_device_run *to, const struct zone_device_run *from, size_t bytes)
{
	prove(bytes == sizeof(*to), "a CPU gets both templates");
	*to = *from;
}

int main(void)
{
	struct dev_pagemap pgmap = { .vmemmap_shift = ORDER };
	unsigned long left;
	bool written;

	start_pfn = nondet_ulong();
	end_pfn = nondet_ulong();
	early_end = nondet_ulong();
	witness = nondet_ulong();
	zone_device_cpus = 1;
	assume(start_pfn <= end_pfn && end_pfn <= PAGES && witness < PAGES && early_end <= PAGES);
	assume(OFFSET(start_pfn) == 0 && OFFSET(end_pfn) == 0 && IS_ALIGNED(early_end, SECTION));

	left = zone_device_memmap_init(start_pfn, end_pfn, 4, 0, &pgmap);

	prove(left == start_pfn || left == end_pfn, "all or nothing is left to the slow path");
	prove(!is_undrained, "streaming stores are drained");
	written = left == end_pfn && is_ours(witness);
	prove(writes == written, "each descriptor of the range is written once, and no other");
	prove(!written || is_head == (STEP > 1 && OFFSET(witness) == 0), "each head is marked");
	prove(!written || is_prepared == (STEP > 1 && OFFSET(witness) <= 2), "folios are prepared");
	return 0;
}
