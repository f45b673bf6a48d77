// SPDX-License-Identifier: GPL-2.0-only
/*
 * memmap_init_zone_device() for a kernel that was built without the speed-up.
 *
 * The kernel's own function does here what it does in a spliced kernel: it makes
 * the templates, it is the slow path, and it is the oracle.
 *
 * - Templates: the running kernel writes the first struct page of each kind, so
 *   reference counts and flags are those of this release.
 * - First tails of a compound: what the kernel stores there is not assumed. It is
 *   found by comparing these tails with a plain tail of the same compound.
 * - Proof: before the first use for a type of memory and an order of compounds, the
 *   kernel writes the beginning of the range (two compounds, if there are any),
 *   then the speed-up writes it, and both are compared. If they differ, the kernel
 *   initialises this kind of memory from then on.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/align.h>
#include <linux/jiffies.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "internal.h"
#include "live.h"
#ifdef LIVE_STEP_METHODS
#include "zone_device_method.h"
#else
/* Without that step, no parameter leaves a range to the kernel. */
#define zone_device_chosen(pgmap, pfn, end_pfn)	true
#endif

LIVE_ORIGINAL(memmap_init_zone_device);

enum zone_device_counts {
	ZONE_DEVICE_DONE,
	ZONE_DEVICE_LEFT_EMPTY,
	ZONE_DEVICE_LEFT_METHOD,
	ZONE_DEVICE_LEFT_SHAPE,
	ZONE_DEVICE_LEFT_EARLY,
	ZONE_DEVICE_LEFT_TRACED,
	ZONE_DEVICE_LEFT_DIFFERS,
	ZONE_DEVICE_PASSED,
	ZONE_DEVICE_FAILED,
};

#define ZONE_DEVICE_FUNCTION	"memmap_init_zone_device"

const struct live_count live_counts[] = {
	[ZONE_DEVICE_DONE] = { ZONE_DEVICE_FUNCTION, LIVE_DONE, "" },
	[ZONE_DEVICE_LEFT_EMPTY] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT, "no pages" },
	[ZONE_DEVICE_LEFT_METHOD] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT, "method=base" },
	[ZONE_DEVICE_LEFT_SHAPE] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT,
				     "a small range, or compounds of two pages" },
	[ZONE_DEVICE_LEFT_EARLY] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT,
				     "shared tail pages in memory of the boot" },
	[ZONE_DEVICE_LEFT_TRACED] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT,
				      "the tracepoint page_ref_set is on" },
	[ZONE_DEVICE_LEFT_DIFFERS] = { ZONE_DEVICE_FUNCTION, LIVE_LEFT,
				       "the proof before use failed" },
	[ZONE_DEVICE_PASSED] = { ZONE_DEVICE_FUNCTION, LIVE_PASSED, "" },
	[ZONE_DEVICE_FAILED] = { ZONE_DEVICE_FUNCTION, LIVE_FAILED, "" },
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/* Struct pages to compare at each place, and the number of places in a range. */
#define ZONE_DEVICE_PROOF	16UL
#define ZONE_DEVICE_PROOFS	2

#define ZONE_DEVICE_TYPES	8
#define ZONE_DEVICE_ORDERS	32
#define ZONE_DEVICE_WORDS	(sizeof(struct page) / sizeof(u64))

enum zone_device_verdict {
	ZONE_DEVICE_UNKNOWN,
	ZONE_DEVICE_EQUAL,
	ZONE_DEVICE_DIFFERS,
};

static DEFINE_MUTEX(zone_device_proof_lock);
static u8 zone_device_verdicts[ZONE_DEVICE_TYPES][ZONE_DEVICE_ORDERS];
static struct page zone_device_proof[ZONE_DEVICE_PROOFS][ZONE_DEVICE_PROOF];

/* Words in the two tails that can hold state of their folio. On 6.12, the second has none. */
#define ZONE_DEVICE_META	(2 * ZONE_DEVICE_WORDS)

/**
 * struct zone_device_state - what the kernel stores in these tails
 * @words: for each word, the bits that differ from a plain tail, or the offset from
 *	   the head if the word points into its own compound
 * @moving: a bit for each word that points into its own compound, and the highest
 *	    bit once the state is known
 */
struct zone_device_state {
	u64 words[ZONE_DEVICE_META];
	u64 moving;
};

#define ZONE_DEVICE_KNOWN	BIT_ULL(63)

static struct zone_device_state zone_device_states[ZONE_DEVICE_ORDERS];

/**
 * prep_compound_head - store the state of a folio in its first tails
 * @head: of the compound, whose first tails are plain tails
 * @order: an order whose state zone_device_learn() has found
 */
void prep_compound_head(struct page *head, unsigned int order)
{
	const struct zone_device_state *state = &zone_device_states[order];
	u64 *tails = (u64 *)(head + 1);
	unsigned int i;

	for (i = 0; i < ZONE_DEVICE_META; i++) {
		if (state->moving & BIT_ULL(i))
			tails[i] = (unsigned long)head + state->words[i];
		else
			tails[i] ^= state->words[i];
	}
}

/*
 * Find the state of tails from two compounds that the kernel wrote, because one
 * alone does not show which words are relative to the compound. Example: a word
 * that is 0x1040 in the compound at 0x1000 and 0x2040 in the one at 0x2000 points
 * 0x40 bytes after its head.
 *
 * Return: whether the state is the same as that of other types of memory, which
 * may be initialised with it at this moment.
 */
static bool zone_device_learn(const struct page *head, const struct page *other,
			      unsigned int order)
{
	struct zone_device_state *known = &zone_device_states[order];
	struct zone_device_state state = { .moving = ZONE_DEVICE_KNOWN };
	const u64 *tails = (const u64 *)(head + 1);
	const u64 *others = (const u64 *)(other + 1);
	u64 distance = (unsigned long)other - (unsigned long)head;
	unsigned int i;

	BUILD_BUG_ON(ZONE_DEVICE_META > 63);

	for (i = 0; i < ZONE_DEVICE_META; i++) {
		unsigned int plain = ZONE_DEVICE_META + i % ZONE_DEVICE_WORDS;

		state.words[i] = tails[i] ^ tails[plain];
		if (state.words[i] != (others[i] ^ others[plain]) &&
		    others[i] - tails[i] == distance) {
			state.words[i] = tails[i] - (unsigned long)head;
			state.moving |= BIT_ULL(i);
		}
	}
	if (!known->moving)
		*known = state;

	return !memcmp(known, &state, sizeof(state));
}

/**
 * __init_zone_device_page - let the kernel write one struct page
 * @page: the struct page
 * @pfn: its PFN
 * @zone_idx: ZONE_DEVICE
 * @nid: node of the memory
 * @pgmap: of the memory
 */
void __init_zone_device_page(struct page *page, unsigned long pfn,
			     unsigned long zone_idx, int nid,
			     struct dev_pagemap *pgmap)
{
	static DEFINE_MUTEX(lock);
	static struct dev_pagemap single;

	/* The struct page points to it for a moment, so it is not on the stack. */
	mutex_lock(&lock);
	memcpy(&single, pgmap, sizeof(single));
	single.flags &= ~PGMAP_ALTMAP_VALID;
	single.vmemmap_shift = 0;
	live_original_memmap_init_zone_device(&NODE_DATA(nid)->node_zones[zone_idx],
					      pfn, 1, &single);
	mutex_unlock(&lock);
	zone_device_live_set_pgmap(page, pgmap);
}

/**
 * compound_nr_pages - how many struct pages of a compound are written
 * @pfn: not used: the kernel initialises the ranges for which it matters
 * @altmap: of the memory
 * @pgmap: of the memory
 *
 * Return: all of them, or those in two pages of the memmap if the other pages are
 * shared.
 */
unsigned long compound_nr_pages(unsigned long pfn,
				struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap)
{
	if (vmemmap_can_optimize(altmap, pgmap))
		return VMEMMAP_RESERVE_NR * PAGE_SIZE / sizeof(struct page);

	return pgmap_vmemmap_nr(pgmap);
}

/* Releases differ in the struct pages that they write in a section of boot memory. */
static bool zone_device_touches_early(unsigned long pfn, unsigned long end_pfn)
{
	for (; pfn < end_pfn; pfn = ALIGN(pfn + 1, PAGES_PER_SECTION)) {
		if (early_section(__pfn_to_section(pfn)))
			return true;
	}

	return false;
}

/* Runs under zone_device_proof_lock. */
static u8 zone_device_compare(struct zone *zone, unsigned long pfn,
			      unsigned long nr, struct dev_pagemap *pgmap)
{
	unsigned int order = pgmap->vmemmap_shift;
	struct page *head = pfn_to_page(pfn);
	struct page *other = pfn_to_page(pfn + nr / ZONE_DEVICE_PROOFS);
	unsigned long each = min(nr / ZONE_DEVICE_PROOFS, ZONE_DEVICE_PROOF);
	unsigned long bytes = each * sizeof(struct page);
	/* Struct pages point to it until the caller rewrites them. */
	static struct dev_pagemap apart;

	/* An altmap would move the start of the range. */
	memcpy(&apart, pgmap, sizeof(apart));
	apart.flags &= ~PGMAP_ALTMAP_VALID;

	live_original_memmap_init_zone_device(zone, pfn, nr, &apart);
	memcpy(zone_device_proof[0], head, bytes);
	memcpy(zone_device_proof[1], other, bytes);
	if (order && !zone_device_learn(head, other, order))
		goto differs;

	/* It declines if the slow path was chosen meanwhile. */
	if (live_zone_device_init(pfn, pfn + nr, zone_idx(zone),
				  zone_to_nid(zone), &apart) != pfn + nr)
		return ZONE_DEVICE_UNKNOWN;

	if (!memcmp(zone_device_proof[0], head, bytes) &&
	    !memcmp(zone_device_proof[1], other, bytes)) {
		live_counted(ZONE_DEVICE_PASSED, nr);
		return ZONE_DEVICE_EQUAL;
	}

differs:
	live_counted(ZONE_DEVICE_FAILED, nr);
	pr_err("memory of type %d with compounds of order %u is left to the kernel, whose struct pages differ\n",
	       pgmap->type, order);
	return ZONE_DEVICE_DIFFERS;
}

/*
 * Compare once for each kind of memory whether kernel and speed-up write the same.
 *
 * Context: may sleep. The range is not in use yet, and the caller rewrites it in
 * any case.
 * Return: ZONE_DEVICE_DONE if they do, or why this range is left to the kernel.
 */
static enum zone_device_counts
zone_device_live_prove(struct zone *zone, unsigned long pfn,
		       unsigned long end_pfn, struct dev_pagemap *pgmap)
{
	unsigned int order = pgmap->vmemmap_shift;
	unsigned long nr = ZONE_DEVICE_PROOFS * (order ? 1UL << order : ZONE_DEVICE_PROOF);
	u8 *verdict, found;

	/*
	 * A compound of two pages has no plain tail to compare with, and a range
	 * with one compound has no second compound.
	 */
	if (pgmap->type >= ZONE_DEVICE_TYPES || order >= ZONE_DEVICE_ORDERS ||
	    order == 1 || end_pfn - pfn < nr)
		return ZONE_DEVICE_LEFT_SHAPE;

	if (order && vmemmap_can_optimize(pgmap_altmap(pgmap), pgmap) &&
	    zone_device_touches_early(pfn, end_pfn))
		return ZONE_DEVICE_LEFT_EARLY;

	verdict = &zone_device_verdicts[pgmap->type][order];
	mutex_lock(&zone_device_proof_lock);
	if (*verdict == ZONE_DEVICE_UNKNOWN)
		*verdict = zone_device_compare(zone, pfn, nr, pgmap);
	found = *verdict;
	mutex_unlock(&zone_device_proof_lock);

	if (found == ZONE_DEVICE_DIFFERS)
		return ZONE_DEVICE_LEFT_DIFFERS;

	return found == ZONE_DEVICE_EQUAL ? ZONE_DEVICE_DONE : ZONE_DEVICE_LEFT_TRACED;
}

/*
 * What memmap_init_zone_device() does after its loop, for the whole range, including
 * pages whose struct pages are shared. Earlier releases of 6.12 mark pageblocks page by
 * page instead, and leave these out.
 */
static void zone_device_live_mark(unsigned long pfn, unsigned long end_pfn)
{
	unsigned long at = ALIGN(pfn, pageblock_nr_pages);

	for (; at < end_pfn; at += pageblock_nr_pages) {
		zone_device_live_mark_block(pfn_to_page(at));
		if (IS_ALIGNED(at, PAGES_PER_SECTION))
			cond_resched();
	}
}

/* Write a range. Return what zone_device_live_prove() returns. */
static enum zone_device_counts
zone_device_live_write(struct zone *zone, unsigned long pfn,
		       unsigned long end_pfn, struct dev_pagemap *pgmap)
{
	enum zone_device_counts found;

	if (pfn >= end_pfn)
		return ZONE_DEVICE_LEFT_EMPTY;
	if (!zone_device_chosen(pgmap, pfn, end_pfn))
		return ZONE_DEVICE_LEFT_METHOD;
	if (page_ref_tracepoint_active(page_ref_set))
		return ZONE_DEVICE_LEFT_TRACED;

	found = zone_device_live_prove(zone, pfn, end_pfn, pgmap);
	if (found == ZONE_DEVICE_DONE &&
	    live_zone_device_init(pfn, end_pfn, zone_idx(zone),
				  zone_to_nid(zone), pgmap) != end_pfn)
		return ZONE_DEVICE_LEFT_TRACED;

	return found;
}

/**
 * live_memmap_init_zone_device - replacement of memmap_init_zone_device()
 * @zone: ZONE_DEVICE of the memory's node
 * @start_pfn: first PFN of the memory
 * @nr_pages: number of pages
 * @pgmap: of the memory
 */
void live_memmap_init_zone_device(struct zone *zone, unsigned long start_pfn,
				  unsigned long nr_pages,
				  struct dev_pagemap *pgmap)
{
	struct vmem_altmap *altmap = pgmap_altmap(pgmap);
	unsigned long end_pfn = start_pfn + nr_pages;
	unsigned long started = jiffies;
	unsigned long pfn = start_pfn;
	enum zone_device_counts found;
	u64 clock = local_clock();

	if (altmap)
		pfn = altmap->base_pfn + vmem_altmap_offset(altmap);

	found = zone_device_live_write(zone, pfn, end_pfn, pgmap);
	live_counted(found, pfn < end_pfn ? end_pfn - pfn : 0);
	if (found != ZONE_DEVICE_DONE) {
		live_original_memmap_init_zone_device(zone, start_pfn, nr_pages,
						      pgmap);
		return;
	}

	zone_device_live_mark(pfn, end_pfn);
	live_timed(found, clock);
	pr_debug("memmap_init_zone_device initialised %lu pages in %ums\n",
		 end_pfn - pfn, jiffies_to_msecs(jiffies - started));
	live_stay();
}
