// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the memmap of memmap_init_zone_device() with that of the kernel's own
 * function, the oracle. Every byte of the range and of a margin around it is
 * compared, so writing too little and too much are both found. All combinations of
 * the lists below run with every method, except that only one in eight runs with
 * the largest compounds, which take 16 MiB each.
 */
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>

#include "hosted.h"
#include "report.h"
#include "check.h"

#define MARGIN		64UL		/* struct pages around the range */
#define LARGE_SECTIONS	32UL		/* "auto" streams so many or more */
#define SHARE_SECTIONS	8UL		/* so many are worth a CPU */
/* A compound of the highest order, aligned, can end so much after CHECK_PFN. */
#define ARENA		((4UL << 18) + 4 * PAGES_PER_SECTION)
#define STEPPED_MOST	1200UL		/* each instruction takes a signal */
#define CPUS		4U		/* of the simulated machine */
#define MOST_CPUS	8U		/* that ever write one memmap */

static const struct {
	const char *name;
	enum memory_type type;
} types[] = {
	{ "PRIVATE",	MEMORY_DEVICE_PRIVATE },
	{ "COHERENT",	MEMORY_DEVICE_COHERENT },
	{ "FS_DAX",	MEMORY_DEVICE_FS_DAX },
	{ "GENERIC",	MEMORY_DEVICE_GENERIC },
	{ "P2PDMA",	MEMORY_DEVICE_PCI_P2PDMA },
};

static const struct {
	const char *name;
	bool valid;
	unsigned long reserve, free;
} altmaps[] = {
	{ "none" },
	{ "reserve",	    true, 512, 0 },
	{ "free",	    true, 0, 1024 },
	{ "reserve + free", true, 2, 190 },
};

static const unsigned int shifts[] = { 0, 1, 2, 6, 9, 18 };

/* Start of a section, of a subsection, within a pageblock, within a page of the memmap. */
static const unsigned long starts[] = { 0, 512, 64, 1, 37 };

static const unsigned long lengths[] = {
	0, 1, 2, 63, 64, 65, 127, 128, 129, 511, 512, 513,
	PAGES_PER_SECTION - 1, PAGES_PER_SECTION, PAGES_PER_SECTION + 1,
	3 * PAGES_PER_SECTION + 5,
};

static const char *const when[] = {
	[HOSTED_WORKERS_RACE] = "at the same time",
	[HOSTED_WORKERS_FIRST] = "the others first",
	[HOSTED_WORKERS_NEVER] = "without a worker",
};

static const char *const methods[] = {
	"copy", "movnti", "wide", "auto", "base",
};

struct combination {
	unsigned int type, altmap, shift, nid;
	unsigned long start, length;
	bool early;		/* in a section of boot memory: no shared vmemmap pages */
	bool two_ranges;	/* a second range follows, by another call */
	unsigned int cpus;	/* how many CPUs write, however small the range is */
	enum hosted_workers workers;
};

struct matrix {
	struct hosted_check *check;
	struct page *memmap;	/* ARENA struct pages, from CHECK_PFN - CHECK_BEFORE on */
	u64 *reference;
	u8 *effects, *reference_effects;
	const char *method;
};

static struct dev_pagemap pgmap;

static unsigned long range_end(const struct combination *c, unsigned long start)
{
	return ALIGN(start + c->length, 1UL << shifts[c->shift]);
}

/* Make one call. Returns the PFN after the last struct page that it may write. */
static unsigned long run_range(const struct combination *c, unsigned long start,
			       enum hosted_side side)
{
	unsigned long offset = altmaps[c->altmap].reserve + altmaps[c->altmap].free;
	unsigned long first = start - offset;
	const struct vmem_altmap altmap = {
		.base_pfn = first,
		.reserve = altmaps[c->altmap].reserve,
		.free = altmaps[c->altmap].free,
	};

	memset(&pgmap, 0, sizeof(pgmap));
	pgmap.type = types[c->type].type;
	pgmap.vmemmap_shift = shifts[c->shift];
	pgmap.nr_range = 1;
	pgmap.range.start = PFN_PHYS(first);
	pgmap.range.end = PFN_PHYS(start + c->length) - 1;
	if (altmaps[c->altmap].valid) {
		pgmap.flags = PGMAP_ALTMAP_VALID;
		memcpy(&pgmap.altmap, &altmap, sizeof(altmap));
	}
	HOSTED_CALL(memmap_init_zone_device, side, hosted_device_zone(c->nid),
		    first, offset + c->length, &pgmap);

	return range_end(c, start);
}

/* The first PFN of a combination. Compounds start at multiples of their size. */
static unsigned long first_pfn(const struct combination *c)
{
	return ALIGN(CHECK_PFN + starts[c->start], 1UL << shifts[c->shift]);
}

static void run_side(const struct combination *c, enum hosted_side side)
{
	unsigned long end = run_range(c, first_pfn(c), side);

	if (c->two_ranges)
		run_range(c, end + altmaps[c->altmap].reserve +
			     altmaps[c->altmap].free, side);
}

/* Number of struct pages to compare: all that may be written, and a margin. */
static unsigned long window(const struct combination *c)
{
	unsigned long offset = altmaps[c->altmap].reserve + altmaps[c->altmap].free;
	unsigned long end = range_end(c, first_pfn(c));

	if (c->two_ranges)
		end = range_end(c, end + offset);
	return end - (CHECK_PFN - CHECK_BEFORE) + MARGIN;
}

static void poison(const struct matrix *m, unsigned long nr)
{
	memset(m->memmap, 0x5a, nr * sizeof(struct page));
	memset(m->effects, 0, nr / pageblock_nr_pages + 1);
}

/* Name the combination, followed by what is wrong. */
static void describe(const struct matrix *m, const struct combination *c,
		     const char *what)
{
	hosted_format(m->check->text, sizeof(m->check->text),
		      "%s, shift %u, altmap %s, start +%lu, %lu PFNs, node %u%s%s, CPUs: %u, %s, method %s: %s",
		      types[c->type].name, shifts[c->shift],
		      altmaps[c->altmap].name, starts[c->start], c->length, c->nid,
		      c->early ? ", early section" : "",
		      c->two_ranges ? ", two ranges" : "", c->cpus, when[c->workers],
		      m->method, what);
}

static bool compare(const struct matrix *m, const struct combination *c,
		    unsigned long nr)
{
	unsigned long words = nr * sizeof(struct page) / sizeof(u64), i;
	const unsigned long per_page = sizeof(struct page) / sizeof(u64);
	const u64 *got = (const u64 *)m->memmap;
	char what[128];

	for (i = 0; i < words; i++) {
		if (got[i] == m->reference[i])
			continue;
		hosted_format(what, sizeof(what),
			      "PFN start%+ld, word %lu: base %#lx, patched %#lx",
			      (long)(i / per_page + CHECK_PFN - CHECK_BEFORE - first_pfn(c)),
			      i % per_page, (unsigned long)m->reference[i],
			      (unsigned long)got[i]);
		describe(m, c, what);
		return false;
	}
	for (i = 0; i <= nr / pageblock_nr_pages; i++) {
		if (m->effects[i] == m->reference_effects[i])
			continue;
		hosted_format(what, sizeof(what),
			      "pageblock %lu: base has type %d, patched %d", i,
			      m->reference_effects[i] - 1, m->effects[i] - 1);
		describe(m, c, what);
		return false;
	}
	return true;
}

struct stepped {
	const struct combination *c;
	enum hosted_side side;
};

static void run_stepped(void *data)
{
	const struct stepped *stepped = data;

	run_side(stepped->c, stepped->side);
}

/*
 * Verify that a method streams, or does not, and that streaming stores are drained
 * when the function returns. Posted code may stream or not.
 */
static bool drains(const struct matrix *m, const struct combination *c)
{
	/* The ranges that are followed are so small that "auto" copies. */
	bool streams = strcmp(m->method, "copy") && strcmp(m->method, "auto");
	struct stepped stepped = { c, hosted_checked(m->check) };
	struct hosted_trace trace = {};

	hosted_single_step(run_stepped, &stepped, &trace);
	m->check->streamed += trace.streamed;
	m->check->stepped++;
	if (trace.undrained || trace.elsewhere) {
		describe(m, c, trace.undrained ? "streaming stores are not drained on return" :
						 "a worker does not drain its streaming stores");
		if (!hosted_is_posted(stepped.side))
			return false;
		hosted_undrained(m->check->text);
	}
	if (hosted_is_posted(stepped.side))
		return true;
	/* Compounds can be so small that all their struct pages get plain stores. */
	if (streams ? !shifts[c->shift] && !trace.streamed : trace.streamed) {
		describe(m, c, streams ? "nothing was streamed" : "something was streamed");
		return false;
	}
	return true;
}

static bool run_methods(struct matrix *m, const struct combination *c)
{
	enum hosted_side side = hosted_checked(m->check);
	unsigned long nr = window(c), i;
	bool good = true;

	if (WARN_ON(nr > ARENA))
		return false;
	describe(m, c, "");
	hosted_early_sections(c->early);
	hosted_workers(c->workers);
	HOSTED_EXTRA_VARIABLE(zone_device_cpus) = c->cpus;
	HOSTED_EXTRA_VARIABLE(zone_device_share) = 1;
	poison(m, nr);
	run_side(c, HOSTED_BASE);
	memcpy(m->reference, m->memmap, nr * sizeof(struct page));
	memcpy(m->reference_effects, m->effects, nr / pageblock_nr_pages + 1);

	for (i = 0; good && i < (hosted_is_posted(side) ? 1 : ARRAY_SIZE(methods)); i++) {
		m->method = hosted_is_posted(side) ? "posted" : methods[i];
		if (!hosted_is_posted(side) &&
		    HOSTED_CALL_EXTRA(zone_device_set_method, m->method) < 0) {
			hosted_format(m->check->text, sizeof(m->check->text),
				      "method %s was refused", m->method);
			return false;
		}
		poison(m, nr);
		run_side(c, side);
		if (hosted_works_left()) {
			describe(m, c, "a worker is left");
			return false;
		}
		good = compare(m, c, nr);
		m->check->runs++;
		m->check->bytes += nr * sizeof(struct page);
		if (good && nr <= STEPPED_MOST && c->type == 0 && c->start == 0 &&
		    (c->length == 65 || c->length == 513) &&
		    strcmp(m->method, "base"))
			good = drains(m, c);
	}
	m->check->combinations++;
	return good;
}

/* Select an index of each list by the digits of @number. */
static bool pick(unsigned long number, struct combination *c)
{
	c->type = number % ARRAY_SIZE(types);
	number /= ARRAY_SIZE(types);
	c->altmap = number % ARRAY_SIZE(altmaps);
	number /= ARRAY_SIZE(altmaps);
	c->shift = number % ARRAY_SIZE(shifts);
	number /= ARRAY_SIZE(shifts);
	c->start = number % ARRAY_SIZE(starts);
	number /= ARRAY_SIZE(starts);
	c->length = lengths[number % ARRAY_SIZE(lengths)];
	number /= ARRAY_SIZE(lengths);

	return !number;
}

/* Pseudo-random bits that do not depend on single digits of @number. */
static unsigned long scatter(unsigned long number)
{
	number = (number + 1) * 0x9e3779b97f4a7c15UL;
	number = (number ^ (number >> 32)) * 0xbf58476d1ce4e5b9UL;
	return number >> 24;
}

/* The function that writes so many PFNs with a method. */
static void *chosen(const char *method, unsigned long nr)
{
	HOSTED_CALL_EXTRA(zone_device_set_method, method);
	return HOSTED_CALL_EXTRA(zone_device_chosen, &pgmap, CHECK_PFN, CHECK_PFN + nr);
}

/* Following a large range would take too long, so look at the choice itself. */
static bool chooses(struct hosted_check *check)
{
	unsigned long large = LARGE_SECTIONS * PAGES_PER_SECTION;

	memset(&pgmap, 0, sizeof(pgmap));
	if (chosen("auto", large - 1) != chosen("copy", large - 1)) {
		hosted_format(check->text, sizeof(check->text),
			      "auto does not copy %lu PFNs", large - 1);
		return false;
	}
	if (chosen("auto", large) != chosen("wide", large)) {
		hosted_format(check->text, sizeof(check->text),
			      "auto does not stream %lu PFNs", large);
		return false;
	}
	return true;
}

static const struct {
	const char *what;
	unsigned int cpus, online, works;
	long more;		/* struct pages than two CPUs are worth */
	unsigned int nid;
	bool confined;
} divisions[] = {
	{ "a range for two CPUs",		2, CPUS, 1 },
	{ "a range just too small for two",	2, CPUS, 0, -1 },
	{ "no more than the parameter allows",	1, CPUS, 0 },
	{ "a parameter of 0",			0, CPUS, 0 },
	{ "no other CPU",			2, 1, 0 },
	{ "a task that is confined to its CPU",	2, CPUS, 0, 0, 0, true },
	{ "a node without CPUs",		2, CPUS, 1, 0, 1 },
};

/* Verify how many workers are asked for with the usual @share, before any of them begins. */
static bool divides(struct hosted_check *check, unsigned long share)
{
	unsigned long enough = 2 * SHARE_SECTIONS * PAGES_PER_SECTION, before, works;
	struct combination c = { .length = enough };
	unsigned int i;

	HOSTED_CALL_EXTRA(zone_device_set_method, "movnti");
	hosted_workers(HOSTED_WORKERS_NEVER);
	HOSTED_EXTRA_VARIABLE(zone_device_share) = share;
	for (i = 0; i < ARRAY_SIZE(divisions); i++) {
		HOSTED_EXTRA_VARIABLE(zone_device_cpus) = divisions[i].cpus;
		hosted_cpus_online(divisions[i].online);
		hosted_confine(divisions[i].confined);
		c.nid = divisions[i].nid;
		c.length = enough + divisions[i].more;
		before = hosted_works_queued();
		run_range(&c, first_pfn(&c), HOSTED_PATCHED);
		works = hosted_works_queued() - before;
		if (works != divisions[i].works)
			break;
	}
	hosted_confine(false);
	hosted_cpus_online(CPUS);
	if (i == ARRAY_SIZE(divisions))
		return true;

	hosted_format(check->text, sizeof(check->text), "%s: %lu workers instead of %u",
		      divisions[i].what, works, divisions[i].works);
	return false;
}

/* The largest number of CPUs, which is less than a user may ask for. */
static bool bounds_cpus(struct hosted_check *check)
{
	struct combination c = { .length = PAGES_PER_SECTION };
	unsigned long before = hosted_works_queued();

	HOSTED_EXTRA_VARIABLE(zone_device_share) = 1;
	HOSTED_EXTRA_VARIABLE(zone_device_cpus) = HOSTED_CPUS;
	hosted_cpus_online(HOSTED_CPUS);
	run_range(&c, first_pfn(&c), HOSTED_PATCHED);
	hosted_cpus_online(CPUS);
	if (hosted_works_queued() - before == MOST_CPUS - 1)
		return true;

	hosted_format(check->text, sizeof(check->text), "%lu workers instead of %u",
		      hosted_works_queued() - before, MOST_CPUS - 1);
	return false;
}

/* Ranges that are large enough for "auto" to stream, with and without an altmap. */
static bool run_large(struct matrix *m)
{
	static const unsigned int shift_of[] = { 0, 4 };
	struct combination c = { .cpus = 2 };
	unsigned int i, altmap;

	for (i = 0; i < ARRAY_SIZE(shift_of); i++) {
		for (altmap = 0; altmap < 2; altmap++) {
			c.shift = shift_of[i];
			c.altmap = altmap;
			c.start = altmap;
			c.type = 3;
			c.length = LARGE_SECTIONS * PAGES_PER_SECTION + 512;
			if (!run_methods(m, &c))
				return false;
		}
	}

	/* Two compounds that are larger than a section each. */
	c = (struct combination){ .shift = 5, .length = (1UL << shifts[5]) + 1, .cpus = 3 };
	return run_methods(m, &c);
}

int zone_device_check(struct hosted_check *check)
{
	unsigned long i, spread, bytes = ARENA * sizeof(struct page);
	unsigned long blocks = ARENA / pageblock_nr_pages + 1;
	bool posted = hosted_is_posted(hosted_checked(check));
	unsigned long share = HOSTED_EXTRA_VARIABLE(zone_device_share);
	struct matrix m = { .check = check };
	struct combination c;

	m.memmap = hosted_arena(bytes);
	m.reference = hosted_arena(bytes);
	m.effects = hosted_arena(blocks);
	m.reference_effects = hosted_arena(blocks);
	hosted_memmap_at(m.memmap, CHECK_PFN - CHECK_BEFORE);
	hosted_effects_at(m.effects, blocks);
	hosted_cpus_online(CPUS);

	for (i = 0; pick(i, &c); i += check->stride) {
		/* These vary within the combinations instead of multiplying their number. */
		spread = scatter(i);
		c.nid = spread % 2;
		c.early = spread / 2 % 2;
		c.two_ranges = spread / 4 % 8 == 0 && shifts[c.shift] < 18;
		hosted_layout = spread / 32 % HOSTED_LAYOUTS;
		if (shifts[c.shift] == 18 && spread / 128 % 8)
			continue;
		c.cpus = 1 + spread / 1024 % CPUS;
		c.workers = spread / 4096 % ARRAY_SIZE(when);
		if (!run_methods(&m, &c))
			return -1;
	}

	if (!posted && !chooses(check))
		return -1;
	if (!run_large(&m))
		return -1;
	return posted || (divides(check, share) && bounds_cpus(check)) ? 0 : -1;
}
