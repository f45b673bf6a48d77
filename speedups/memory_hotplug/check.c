// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sequences of memory that comes and goes, decoded from bytes: of a generator here,
 * or of a fuzzer. After each call of kernel code, the flag of the zone must be what
 * the kernel's own scan of the whole zone says, and no other flag may change.
 *
 * Memory comes and goes as in mm/memory_hotplug.c and mm/memremap.c:
 *
 * - the sections of memory that is plugged become online after it is in its zone,
 *   and those of memory that is unplugged are offline before it leaves;
 * - the first part of a memory block may hold the block's own memmap. It comes
 *   before the rest and leaves after it, and its sections become online when they
 *   are whole;
 * - when onlining fails, memory leaves again that was never online;
 * - memory that was there at boot may have holes, of whole subsections. A device may
 *   have its memory in a hole.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "sections.h"

enum {
	SECTIONS	= 24,
	EARLY		= 4,	/* sections that were there at boot */
	HEAD		= 3,	/* bytes that describe these */
	BLOCKS_MAX	= 3,	/* sections of a memory block */
	STEPS		= 48,	/* of a generated sequence */
	SEQUENCES	= 400,
};

enum { OP_PLUG, OP_PLUG_TOO, OP_UNPLUG, OP_UNPLUG_TOO, OP_FAIL, OP_DEVICE, OP_DEVICE_GONE, OPS };

struct step {
	u8 op;		/* modulo OPS; divided by OPS, the sections of a block less one */
	u8 where;	/* modulo SECTIONS, the section; if there is none free, the next */
	u8 zone;	/* node and zone; the highest bit lets sections vanish */
	u8 part;	/* size of the memmap in the block, or place and size of a device */
};

/* A memory block, at the number of its first section. */
struct block {
	unsigned int sections;	/* 0: none starts here */
	unsigned long own;	/* pages with the memmap of the block */
	struct zone *zone;
};

struct sequence {
	struct hosted_check *check;
	const struct step *step;
	unsigned long steps;
	struct block blocks[SECTIONS];
	bool used[SECTIONS];
	unsigned long device;	/* first page of the device; 0: none is there */
	unsigned long device_pages;
};

static const enum zone_type types[] = { ZONE_NORMAL, ZONE_MOVABLE };

static unsigned long pfn_of(unsigned int section)
{
	return FIRST_PFN + section * PAGES_PER_SECTION;
}

static int wrong(const struct sequence *s, struct zone *zone, const char *what,
		 unsigned long pfn, unsigned long nr_pages)
{
	hosted_format(s->check->text, sizeof(s->check->text),
		      "step %lu: %s %#lx to %#lx, zone %d of node %d from %#lx to %#lx: zone->contiguous is %d, and %d by base's scan",
		      s->steps, what, pfn - FIRST_PFN, pfn + nr_pages - FIRST_PFN,
		      (int)zone_idx(zone), zone_to_nid(zone), zone->zone_start_pfn,
		      zone_end_pfn(zone), zone->contiguous, sections_scan(zone));
	return -1;
}

/* The flags of all zones but one, as a sum that any change of one flag changes. */
static u64 other_flags(const struct zone *but)
{
	u64 sum = 0;
	int nid, z;

	for (nid = 0; nid < SECTIONS_NODES; nid++) {
		for (z = 0; z < MAX_NR_ZONES; z++) {
			const struct zone *zone = sections_zone(nid, z);

			if (zone != but && zone->contiguous)
				sum += 1ULL << (nid * 3 + z % 3);
		}
	}
	return sum;
}

static int change(struct sequence *s, struct zone *zone, unsigned long pfn,
		  unsigned long nr_pages, bool add)
{
	const u64 others = other_flags(zone);

	if (add)
		sections_add(hosted_checked(s->check), zone, pfn, nr_pages);
	else
		sections_remove(hosted_checked(s->check), zone, pfn, nr_pages);
	s->check->runs++;
	s->check->bytes += sizeof(zone->contiguous);

	if (zone->contiguous != sections_scan(zone))
		return wrong(s, zone, add ? "after adding" : "after removing", pfn, nr_pages);
	if (other_flags(zone) != others)
		return wrong(s, zone, "another flag changed with", pfn, nr_pages);
	return 0;
}

static int block_add(struct sequence *s, unsigned int first, bool fail)
{
	const struct block *b = &s->blocks[first];
	const unsigned long pfn = pfn_of(first), end = pfn_of(first + b->sections);

	if (b->own) {
		if (change(s, b->zone, pfn, b->own, true))
			return -1;
		sections_online(pfn, ALIGN_DOWN(b->own, PAGES_PER_SECTION), true);
	}
	if (change(s, b->zone, pfn + b->own, end - pfn - b->own, true))
		return -1;
	if (!fail)
		sections_online(ALIGN_DOWN(pfn + b->own, PAGES_PER_SECTION),
				end - ALIGN_DOWN(pfn + b->own, PAGES_PER_SECTION), true);
	return 0;
}

static int block_remove(struct sequence *s, unsigned int first)
{
	const struct block *b = &s->blocks[first];
	const unsigned long pfn = pfn_of(first), end = pfn_of(first + b->sections);
	const unsigned long rest = ALIGN_DOWN(pfn + b->own, PAGES_PER_SECTION);

	sections_online(rest, end - rest, false);
	if (change(s, b->zone, pfn + b->own, end - pfn - b->own, false))
		return -1;
	if (!b->own)
		return 0;
	sections_online(pfn, ALIGN_DOWN(b->own, PAGES_PER_SECTION), false);
	return change(s, b->zone, pfn, b->own, false);
}

static void release(struct sequence *s, unsigned int first, bool vanish)
{
	struct block *b = &s->blocks[first];
	unsigned int i;

	for (i = first; i < first + b->sections; i++) {
		s->used[i] = false;
		if (vanish)
			section_absent(pfn_of(i));
	}
	b->sections = 0;
}

static int plug(struct sequence *s, const struct step *step, bool fail)
{
	unsigned int first = step->where % SECTIONS, want = 1 + step->op / OPS % BLOCKS_MAX, i;
	struct block *b;

	for (i = 0; i < SECTIONS && s->used[first]; i++)
		first = (first + 1) % SECTIONS;
	if (s->used[first])
		return 0;
	b = &s->blocks[first];
	b->zone = sections_zone(step->zone / 2 % SECTIONS_NODES, types[step->zone % 2]);
	for (b->sections = 0; b->sections < want && first + b->sections < SECTIONS &&
	     !s->used[first + b->sections]; b->sections++) {
		section_present(pfn_of(first + b->sections), false);
		s->used[first + b->sections] = true;
	}
	/* Half of the blocks hold their memmap, of up to all pageblocks but one. */
	b->own = 0;
	if (step->part & 1)
		b->own = step->part * b->sections / 4 * pageblock_nr_pages;

	if (block_add(s, first, fail))
		return -1;
	if (!fail)
		return 0;
	if (block_remove(s, first))
		return -1;
	release(s, first, step->zone & 0x80);
	return 0;
}

static int unplug(struct sequence *s, const struct step *step)
{
	unsigned int first = step->where % SECTIONS, i;

	for (i = 0; i < SECTIONS && !s->blocks[first].sections; i++)
		first = (first + 1) % SECTIONS;
	if (!s->blocks[first].sections)
		return 0;
	if (block_remove(s, first))
		return -1;
	release(s, first, step->zone & 0x80);
	return 0;
}

/* A device may have its memory in a hole of the first sections, as far as it goes. */
static int device_add(struct sequence *s, const struct step *step)
{
	unsigned long pfn = FIRST_PFN + step->where % (EARLY * SUBSECTIONS_PER_SECTION) *
			    PAGES_PER_SUBSECTION, nr = 0;

	while (!s->device_pages && nr < step->part % 8 + 1 && pfn + nr * PAGES_PER_SUBSECTION <
	       pfn_of(EARLY) && section_is_hole(pfn + nr * PAGES_PER_SUBSECTION))
		nr++;
	if (!nr)
		return 0;
	s->device = pfn;
	s->device_pages = nr * PAGES_PER_SUBSECTION;
	for (; nr; nr--, pfn += PAGES_PER_SUBSECTION)
		section_device(pfn, true);
	return change(s, sections_zone(0, ZONE_DEVICE), s->device, s->device_pages, true);
}

static int device_remove(struct sequence *s)
{
	unsigned long nr_pages = s->device_pages, pfn;

	if (!nr_pages)
		return 0;
	sections_remove(hosted_checked(s->check), sections_zone(0, ZONE_DEVICE), s->device,
			nr_pages);
	for (pfn = s->device; pfn < s->device + nr_pages; pfn += PAGES_PER_SUBSECTION)
		section_device(pfn, false);
	s->device_pages = 0;
	return 0;
}

static int take(struct sequence *s, const struct step *step)
{
	s->step = step;
	s->steps++;
	switch (step->op % OPS) {
	case OP_PLUG:
	case OP_PLUG_TOO:
		return plug(s, step, false);
	case OP_FAIL:
		return plug(s, step, true);
	case OP_UNPLUG:
	case OP_UNPLUG_TOO:
		return unplug(s, step);
	case OP_DEVICE:
		return device_add(s, step);
	default:
		return device_remove(s);
	}
}

/*
 * Memory that was there at boot, with up to two holes. The first two bytes of @head
 * are their places. If the third is odd, memory and its zone end within a pageblock,
 * and the last page of that pageblock is in another zone.
 */
static void boot(struct sequence *s, const u8 *head)
{
	struct zone *zone = sections_zone(0, ZONE_NORMAL);
	unsigned long pfn;
	unsigned int i;

	for (i = 0; i < EARLY; i++) {
		section_present(pfn_of(i), true);
		s->used[i] = true;
	}
	/* Scans look at the first and the last page of a pageblock only. */
	for (pfn = FIRST_PFN; pfn < pfn_of(EARLY); pfn += pageblock_nr_pages) {
		set_page_links(pfn_to_page(pfn), ZONE_NORMAL, 0, pfn);
		set_page_links(pfn_to_page(pfn + pageblock_nr_pages - 1), ZONE_NORMAL, 0, pfn);
	}
	for (i = 0; i < 2; i++) {
		for (pfn = 0; head[i] && pfn < 1 + head[i] % 4; pfn++)
			section_hole(FIRST_PFN + (head[i] + pfn) % (EARLY * SUBSECTIONS_PER_SECTION) *
				     PAGES_PER_SUBSECTION, true);
	}
	/* A block can only leave if it is whole. */
	for (i = 0; i < EARLY; i++) {
		s->blocks[i].zone = zone;
		s->blocks[i].sections = 1;
		for (pfn = pfn_of(i); pfn < pfn_of(i + 1); pfn += PAGES_PER_SUBSECTION) {
			if (section_is_hole(pfn))
				s->blocks[i].sections = 0;
		}
	}
	sections_online(FIRST_PFN, EARLY * PAGES_PER_SECTION, true);
	zone->zone_start_pfn = FIRST_PFN;
	zone->spanned_pages = EARLY * PAGES_PER_SECTION;
	if (head[2] & 1) {
		pfn = pfn_of(EARLY) - 1;
		set_page_links(pfn_to_page(pfn), ZONE_NORMAL, 1, pfn);
		pfn -= pageblock_nr_pages / 2;
		set_page_links(pfn_to_page(pfn), ZONE_NORMAL, 0, pfn);
		zone->spanned_pages -= pageblock_nr_pages / 2;
		s->blocks[EARLY - 1].sections = 0;
	}
	zone->contiguous = sections_scan(zone);
}

static void start(struct sequence *s, struct hosted_check *check)
{
	static void *memmap;

	if (!memmap)
		memmap = hosted_arena(SECTIONS * PAGES_PER_SECTION * sizeof(struct page));
	if (pfn_to_page(FIRST_PFN) != memmap)
		sections_init(memmap, SECTIONS);
	memset(s, 0, sizeof(*s));
	s->check = check;
	sections_empty();
}

int memory_hotplug_fuzz(const unsigned char *data, unsigned long size,
			struct hosted_check *check)
{
	static struct sequence s;
	u8 head[HEAD] = {};
	unsigned long at;

	start(&s, check);
	/* An empty input is valid too, because libFuzzer begins with one. */
	memcpy(head, data, min(size, sizeof(head)));
	boot(&s, head);
	for (at = sizeof(head); at + sizeof(struct step) <= size; at += sizeof(struct step)) {
		if (take(&s, (const struct step *)(data + at)))
			return -1;
	}
	return 0;
}

/* Let a whole zone go: from both ends, and from a hole in the middle outwards. */
static int all_of_zone(struct sequence *s)
{
	static const u8 orders[][6] = { { 5, 4, 0, 3, 1, 2 }, { 2, 3, 1, 5, 0, 4 }, { 0, 1, 2, 3, 4, 5 } };
	struct zone *zone = sections_zone(0, ZONE_MOVABLE);
	unsigned int i, o, set;

	for (o = 0; o < ARRAY_SIZE(orders); o++) {
		for (set = 0; set < 2; set++) {
			sections_empty();
			for (i = 0; i < 6; i++) {
				section_present(pfn_of(i), false);
				if (change(s, zone, pfn_of(i), PAGES_PER_SECTION, true))
					return -1;
				sections_online(pfn_of(i), PAGES_PER_SECTION, true);
			}
			/* The flag may be set, as after boot, or not, as after an addition. */
			zone->contiguous = set;
			for (i = 0; i < 6; i++) {
				sections_online(pfn_of(orders[o][i]), PAGES_PER_SECTION, false);
				if (change(s, zone, pfn_of(orders[o][i]), PAGES_PER_SECTION, false))
					return -1;
			}
		}
	}
	return 0;
}

/* Let a zone grow that ended within a pageblock, whose last page is in another zone. */
static int ragged(struct sequence *s)
{
	static const u8 head[HEAD] = { 0, 0, 1 };
	struct zone *zone = sections_zone(0, ZONE_NORMAL);
	unsigned int i;

	sections_empty();
	boot(s, head);
	section_present(pfn_of(EARLY), false);
	for (i = 0; i < 2; i++) {
		sections_online(pfn_of(i), PAGES_PER_SECTION, false);
		if (change(s, zone, pfn_of(i), PAGES_PER_SECTION, false))
			return -1;
		if (i)
			break;
		if (change(s, zone, pfn_of(EARLY), PAGES_PER_SECTION, true))
			return -1;
		sections_online(pfn_of(EARLY), PAGES_PER_SECTION, true);
	}
	return 0;
}

/* xorshift */
static u32 next_random(u32 *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state;
}

int memory_hotplug_check(struct hosted_check *check)
{
	static struct sequence s;
	u8 data[HEAD + STEPS * sizeof(struct step)];
	u32 state = 1;
	unsigned int i, n;

	/* Posted code may take as long as it likes. */
	if (!hosted_is_posted(hosted_checked(check)) && costs_check(check))
		return -1;
	start(&s, check);
	if (all_of_zone(&s) || ragged(&s) || memmap_check(check) ||
	    vmemmap_check(check))
		return -1;
	for (n = 0; n < SEQUENCES; n++) {
		for (i = 0; i < sizeof(data); i++)
			data[i] = next_random(&state) >> 7;
		/* Most machines have one hole, or none. */
		if (n & 1)
			data[0] = 0;
		if (n & 8 || n % 4 == 1)
			data[1] = 0;
		/* Most have few zones, so that a zone has many blocks. */
		for (i = HEAD + offsetof(struct step, zone); n % 4 && i < sizeof(data);
		     i += sizeof(struct step))
			data[i] &= 0x80 | (n % 4 - 1);
		/* Half have little memory, so that holes are filled and opened often. */
		for (i = HEAD + offsetof(struct step, where); n & 4 && i < sizeof(data);
		     i += sizeof(struct step))
			data[i] %= EARLY + 4;
		if (n % check->stride)
			continue;
		check->combinations++;
		if (memory_hotplug_fuzz(data, sizeof(data), check))
			return -1;
	}
	return 0;
}
