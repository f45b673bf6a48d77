// SPDX-License-Identifier: GPL-2.0-only
/*
 * The flag would also be right if every call scanned the zone. So count what calls take:
 * the instructions of a removal, and how often a pageblock is looked at while memory is
 * plugged, section by section.
 */
#include <linux/kernel.h>
#include <linux/mm.h>

#include "hosted.h"
#include "check.h"
#include "sections.h"

/* Sections of a zone in which a removal is followed, and of the memory that is plugged. */
#define FEW		10
#define MANY		20
#define SECTIONS_512G	((512UL << 30) / PAGE_SIZE / PAGES_PER_SECTION)

static unsigned long pfn_of(unsigned int section)
{
	return FIRST_PFN + section * PAGES_PER_SECTION;
}

struct removal {
	struct zone *zone;
	unsigned long pfn;
	enum hosted_side side;
};

static void remove_section(void *data)
{
	const struct removal *removal = data;

	sections_remove(removal->side, removal->zone, removal->pfn, PAGES_PER_SECTION);
}

/*
 * Return the instructions that it takes to remove the section @gone from a zone of
 * @sections sections, without the section @hole, after the last one was removed.
 */
static unsigned long cost(struct hosted_check *check, unsigned int sections,
			  unsigned int hole, unsigned int gone)
{
	struct removal removal = {
		sections_zone(1, ZONE_MOVABLE), pfn_of(sections - 1), hosted_checked(check),
	};
	struct hosted_trace trace = {};
	unsigned int i;

	sections_empty();
	for (i = 0; i < sections; i++) {
		section_present(pfn_of(i), false);
		if (i == hole)
			continue;
		sections_add(hosted_checked(check), removal.zone, pfn_of(i), PAGES_PER_SECTION);
		sections_online(pfn_of(i), PAGES_PER_SECTION, true);
	}
	sections_online(removal.pfn, PAGES_PER_SECTION, false);
	remove_section(&removal);
	removal.pfn = pfn_of(gone);
	sections_online(removal.pfn, PAGES_PER_SECTION, false);
	hosted_single_step(remove_section, &removal, &trace);
	check->stepped++;
	return trace.instructions;
}

/* More than any removal differs from another, and less than looking at a section takes. */
#define COST_SLACK	500

/* Compare what it costs to remove a section from a small zone and from a larger one. */
static int removals(struct hosted_check *check)
{
	/* A section at the end, in the middle, before a hole, at the beginning. */
	static const struct {
		unsigned int hole, gone;	/* before the end of the zone */
	} places[] = { { 0, 2 }, { 0, 5 }, { 4, 6 }, { 0, 0 } };
	unsigned int i, sections[] = { FEW, MANY }, z;
	unsigned long instructions[2];

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		for (z = 0; z < 2; z++)
			instructions[z] = cost(check, sections[z], sections[z] - places[i].hole,
					       places[i].gone ? sections[z] - places[i].gone : 0);
		if (instructions[1] <= instructions[0] + COST_SLACK)
			continue;
		hosted_format(check->text, sizeof(check->text),
			      "removal %u takes %lu instructions with %u sections, and %lu with %u",
			      i, instructions[0], sections[0], instructions[1], sections[1]);
		return -1;
	}
	return 0;
}

/* Return how many online pageblocks it takes a side to look at, to plug @nr sections. */
static unsigned long looks(enum hosted_side side, unsigned int nr)
{
	unsigned int i;

	sections_empty();
	sections_looked();
	for (i = 0; i < nr; i++) {
		section_present(pfn_of(i), false);
		section_taint(pfn_of(i));
		sections_add(side, sections_zone(0, ZONE_MOVABLE), pfn_of(i), PAGES_PER_SECTION);
		sections_online(pfn_of(i), PAGES_PER_SECTION, true);
	}
	return sections_looked();
}

/* The kernel looks at all pageblocks that are there each time, and the new code at none. */
static int plug_looks(struct hosted_check *check, unsigned long nr)
{
	const unsigned long section = PAGES_PER_SECTION / pageblock_nr_pages;
	const unsigned long base = looks(HOSTED_BASE, nr);
	const unsigned long patched = looks(hosted_checked(check), nr);

	if (base == section * (nr - 1) * nr / 2 && !patched)
		return 0;
	hosted_format(check->text, sizeof(check->text),
		      "%lu sections take the kernel %lu looks at pageblocks, and the new code %lu",
		      nr, base, patched);
	return -1;
}

int costs_check(struct hosted_check *check)
{
	const unsigned long bytes = PAGES_PER_SECTION * sizeof(struct page);

	sections_init(hosted_arena(MANY * bytes), MANY);
	if (removals(check) || plug_looks(check, MANY))
		return -1;

	/* The kernel's half a billion looks at 512 GiB take some seconds: once is enough. */
	if (check->stride > 1 || IS_ENABLED(CONFIG_DEBUG_VM) || !IS_ENABLED(CONFIG_MEMCG))
		return 0;
	sections_init(hosted_repeated_arena(bytes, SECTIONS_512G), SECTIONS_512G);
	return plug_looks(check, SECTIONS_512G);
}
