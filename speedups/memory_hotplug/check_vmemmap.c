// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the page tables that map the struct pages of a device, and the references to
 * the pages that they map, with those of the kernel's own code. Devices begin
 * anywhere, their parts are mapped in any order and twice, entries are in use, and
 * memory runs out.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sizes.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "sections.h"
#include "vmemmap.h"

#define MEMORY_BYTES	SZ_4M
#define SLACK_BYTES	SZ_64K	/* compared after what base used */
#define PARTS		3
#define SUB		PAGES_PER_SUBSECTION

/*
 * Parts of a device, whose memmap is made in this order. The kernel makes that of a part
 * that begins within a compound page after that of the page before it.
 */
struct device {
	unsigned long start;		/* pages before the device */
	unsigned int shift;
	unsigned long allocations;	/* that succeed */
	struct {
		unsigned long start, nr_pages;
		bool plain;		/* shares nothing */
	} parts[PARTS];
};

struct tables {
	struct hosted_check *check;
	char *memory, *base;
};

static bool populate(const struct device *d, enum hosted_side side)
{
	unsigned int i;

	vmemmap_begin();
	vmemmap_allocations(d->allocations);
	for (i = 0; i < PARTS && d->parts[i].nr_pages; i++) {
		const unsigned long pfn = FIRST_PFN + d->parts[i].start;
		const unsigned long nr_pages = d->parts[i].nr_pages;

		if (!(d->parts[i].plain ?
		      vmemmap_populate_plain(side, pfn, nr_pages, i % 2) :
		      vmemmap_populate_device(side, pfn, nr_pages, FIRST_PFN + d->start, d->shift,
					      i % 2)))
			return false;
	}
	return true;
}

/*
 * What follows a page table in memory is another one, or any page. So let its words be
 * entries in use and, every second time, entries that are not.
 */
static void fill(struct tables *t)
{
	memset(t->memory, t->check->combinations % 2 ? 0 : 0x5a, MEMORY_BYTES);
}

static int differs(struct tables *t, const struct device *d, const char *what, unsigned long at)
{
	hosted_format(t->check->text, sizeof(t->check->text),
		      "order %u from %lu, parts %lu+%lu, %lu+%lu, %lu+%lu, %ld allocations: %s %#lx",
		      d->shift, d->start, d->parts[0].start, d->parts[0].nr_pages,
		      d->parts[1].start, d->parts[1].nr_pages, d->parts[2].start,
		      d->parts[2].nr_pages, (long)d->allocations, what, at);
	return -1;
}

static int compare(struct tables *t, const struct device *d)
{
	unsigned long at, window, used, nodes;
	bool done;

	fill(t);
	done = populate(d, HOSTED_BASE);
	used = vmemmap_used();
	nodes = vmemmap_nodes();
	window = used + SLACK_BYTES;
	memcpy(t->base, t->memory, window);

	fill(t);
	if (populate(d, hosted_checked(t->check)) != done)
		return differs(t, d, "base returned", done);
	t->check->combinations++;
	t->check->runs++;
	t->check->bytes += window;
	if (vmemmap_used() != used)
		return differs(t, d, "base used bytes", used);
	if (vmemmap_nodes() != nodes)
		return differs(t, d, "base verified nodes", nodes);
	for (at = 0; at < window; at += sizeof(u64)) {
		if (*(u64 *)(t->memory + at) != *(u64 *)(t->base + at))
			return differs(t, d, at < MEMORY_BYTES / PAGE_SIZE * sizeof(struct page) ?
				       "a page differs at" : "a table differs at", at);
	}
	return 0;
}

/* Whether base leaves what it should, so that the comparison means something. */
static int plausible(struct tables *t)
{
	static const struct device d = { 0, 9, ULONG_MAX, { { 0, PAGES_PER_SECTION } } };
	const unsigned int each = (sizeof(struct page) << d.shift) / PAGE_SIZE;
	unsigned long tail;
	unsigned int i;

	fill(t);
	if (!populate(&d, HOSTED_BASE))
		return differs(t, &d, "base returned", false);
	tail = vmemmap_pfn(FIRST_PFN, 1);
	for (i = 2; i < each; i++) {
		if (vmemmap_pfn(FIRST_PFN, i) != tail)
			return differs(t, &d, "base does not share page", i);
	}
	if (vmemmap_pfn(FIRST_PFN, 0) == tail ||
	    vmemmap_pfn(FIRST_PFN, each) == vmemmap_pfn(FIRST_PFN, 0) ||
	    vmemmap_pfn(FIRST_PFN, each + 1) == tail)
		return differs(t, &d, "base shares page", tail);
	if (page_count(pfn_to_page(tail)) != each - 1)
		return differs(t, &d, "base has references", page_count(pfn_to_page(tail)));
	return 0;
}

struct work {
	unsigned int shift;
	enum hosted_side side;
};

static void work(void *data)
{
	const struct work *w = data;

	vmemmap_populate_device(w->side, FIRST_PFN + PAGES_PER_SECTION, PAGES_PER_SECTION,
				FIRST_PFN, w->shift, 0);
}

/* Only the patched side is instrumented. */
#ifdef __SANITIZE_ADDRESS__
#define INSTRUMENTED	true
#else
#define INSTRUMENTED	false
#endif

/* Slow code would also be right. So count the instructions for a section. */
static int vmemmap_costs(struct tables *t)
{
	static const struct {
		unsigned int shift, least;	/* gain, in tenths */
	} costs[] = { { 9, 18 }, { 18, 150 } };
	unsigned long instructions[2];
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(costs); i++) {
		for (k = 0; k < 2; k++) {
			struct work w = { costs[i].shift,
					  k ? hosted_checked(t->check) : HOSTED_BASE };
			struct hosted_trace trace = {};

			vmemmap_begin();
			/* The section before it, whose tail page is shared. */
			vmemmap_populate_device(HOSTED_BASE, FIRST_PFN, PAGES_PER_SECTION,
						FIRST_PFN, w.shift, 0);
			hosted_single_step(work, &w, &trace);
			t->check->stepped++;
			instructions[k] = trace.instructions;
		}
		if (instructions[0] * 10 >= instructions[1] * costs[i].least)
			continue;
		/* A tree without the last step, which `export --check` has, runs base's code. */
		if (abs_diff(instructions[0], instructions[1]) * 100 < instructions[0])
			continue;
		hosted_format(t->check->text, sizeof(t->check->text),
			      "mapping order %u takes base %lu instructions, and the new code %lu",
			      costs[i].shift, instructions[0], instructions[1]);
		return -1;
	}
	return 0;
}

static int all_devices(struct tables *t)
{
	static const unsigned int shifts[] = { 8, 9, 11, 14, 15, 16, 18 };
	static const unsigned long starts[] = { 0, SUB, 5 * SUB, PAGES_PER_SECTION - SUB };
	static const unsigned long lengths[] = { SUB, 2 * SUB, 7 * SUB, PAGES_PER_SECTION - SUB,
						 PAGES_PER_SECTION, PAGES_PER_SECTION + 3 * SUB };
	unsigned int s, i, j, k;

	for (s = 0; s < ARRAY_SIZE(shifts); s++) {
		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			for (j = 0; j < ARRAY_SIZE(lengths); j++) {
				const unsigned long end = starts[i] + lengths[j];
				struct device d = { starts[i], shifts[s], ULONG_MAX,
						    { { starts[i], lengths[j] } } };

				/* Alone, then with what follows, and with that twice. */
				for (k = 0; k < 3; k++) {
					if (k)
						d.parts[k].start = k == 1 ? end : starts[i] + SUB;
					if (k)
						d.parts[k].nr_pages = lengths[j];
					if (compare(t, &d))
						return -1;
				}
				/* A part in the middle is there already. */
				d.parts[0].start = starts[i] + 2 * SUB;
				d.parts[0].nr_pages = SUB;
				d.parts[0].plain = true;
				d.parts[1].start = starts[i];
				d.parts[1].nr_pages = lengths[j];
				d.parts[2].nr_pages = 0;
				if (compare(t, &d))
					return -1;
				for (d.allocations = 0; d.allocations < 12; d.allocations++) {
					if (compare(t, &d))
						return -1;
				}
			}
		}
	}
	return 0;
}

int vmemmap_check(struct hosted_check *check)
{
	static struct tables t;
	int result;

	if (!t.memory) {
		t.memory = hosted_arena(MEMORY_BYTES);
		t.base = hosted_arena(MEMORY_BYTES);
	}
	t.check = check;
	vmemmap_memory(t.memory, MEMORY_BYTES);
	result = plausible(&t);
	if (!result && !INSTRUMENTED && !hosted_is_posted(hosted_checked(check)))
		result = vmemmap_costs(&t);
	if (!result)
		result = all_devices(&t);
	vmemmap_leave();
	return result;
}
