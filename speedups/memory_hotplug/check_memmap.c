// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the struct pages of memory that is added to a zone, and of memory that is then
 * given to the page allocator, with those that the kernel's own functions leave. The
 * zone, its free lists, the type of each pageblock and what is counted or reported are
 * compared, too.
 *
 * Some struct pages are changed before they are given to the page allocator, one at a
 * time, as drivers that keep pages offline or a stray write might. The kernel reports
 * some of these changes, and undoes others.
 */
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "sections.h"

/* Sections that are compared. Memory is added after the first one. */
#define WINDOW		SECTIONS_READ
#define BASE_PFN	(FIRST_PFN + PAGES_PER_SECTION)
#define WINDOW_PAGES	(WINDOW * PAGES_PER_SECTION)

/* Memory that is added, as memory blocks and as the memmap of a device. */
struct added {
	enum zone_type type;
	unsigned int nid;
	unsigned long start, nr_pages;
	enum migratetype migratetype;
	bool isolate;
	bool altmap;
	unsigned long reserve, free;
};

/* A change of the struct page @at, before the memory is freed. */
struct change {
	const char *name;
	void (*make)(struct page *page);
};

/* What one side left. */
struct outcome {
	struct page memmap[WINDOW_PAGES];
	struct sections_state state;
};

struct comparison {
	struct hosted_check *check;
	struct page *memmap;
	struct outcome *base;
};

static int differs(const struct comparison *c, const char *what, unsigned long at)
{
	const u64 *want = (const u64 *)&c->base->memmap[at], *got = (const u64 *)&c->memmap[at];
	unsigned int i = 0;

	while (at < WINDOW_PAGES && i < sizeof(struct page) / 8 - 1 && want[i] == got[i])
		i++;
	if (at < WINDOW_PAGES)
		hosted_format(c->check->text, sizeof(c->check->text),
			      "%s: page %ld, word %u: base has %#lx, patched has %#lx", what,
			      (long)(at - PAGES_PER_SECTION), i, (unsigned long)want[i],
			      (unsigned long)got[i]);
	else
		hosted_format(c->check->text, sizeof(c->check->text),
			      "%s: a zone, a pageblock, a count or a report differs", what);
	return -1;
}

/* Keep what base left, or compare what patched code left with it. */
static int settle(struct comparison *c, enum hosted_side side, const char *what)
{
	static struct sections_state state;
	unsigned long at;

	sections_read(&state, FIRST_PFN, WINDOW);
	if (side == HOSTED_BASE) {
		memcpy(c->base->memmap, c->memmap, sizeof(c->base->memmap));
		c->base->state = state;
		return 0;
	}
	c->check->runs++;
	c->check->bytes += sizeof(*c->base);
	if (memcmp(&state, &c->base->state, sizeof(state)))
		return differs(c, what, WINDOW_PAGES);
	if (!memcmp(c->memmap, c->base->memmap, sizeof(c->base->memmap)))
		return 0;
	for (at = 0; !memcmp(&c->memmap[at], &c->base->memmap[at], sizeof(struct page)); at++)
		;
	return differs(c, what, at);
}

static void begin(struct comparison *c, enum hosted_side side)
{
	unsigned int i;

	memset(c->memmap, 0x5a, sizeof(c->base->memmap));
	sections_empty();
	for (i = 0; i < WINDOW; i++)
		section_present(FIRST_PFN + i * PAGES_PER_SECTION, false);
	sections_zero_counts();
}

static void add(const struct added *a, enum hosted_side side)
{
	struct vmem_altmap altmap = {
		.base_pfn = BASE_PFN + a->start,
		.end_pfn = BASE_PFN + a->start + a->nr_pages - 1,
		.reserve = a->reserve,
		.free = a->free,
	};

	sections_add_as(side, sections_zone(a->nid, a->type), BASE_PFN + a->start, a->nr_pages,
			a->altmap ? &altmap : NULL, a->migratetype, a->isolate);
}

static int added(struct comparison *c, const struct added *a)
{
	const enum hosted_side sides[] = { HOSTED_BASE, hosted_checked(c->check) };
	char what[160];
	unsigned int i;

	hosted_format(what, sizeof(what),
		      "adding %lu pages from %lu to zone %d of node %u, reserve %lu, free %lu",
		      a->nr_pages, a->start, (int)a->type, a->nid, a->reserve, a->free);
	c->check->combinations++;
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		begin(c, sides[i]);
		add(a, sides[i]);
		if (settle(c, sides[i], what))
			return -1;
	}
	return 0;
}

/* Memory blocks begin and end with a pageblock, the memmap of a device anywhere. */
static int all_added(struct comparison *c)
{
	static const unsigned long starts[] = { 0, 512, 5 * 512 };
	static const unsigned long lengths[] = { 512, 1024, PAGES_PER_SECTION,
						 PAGES_PER_SECTION + 3 * 512 };
	static const unsigned long reserves[] = { 0, 1, 2, 511, 512 };
	static const unsigned long frees[] = { 0, 1, 189, 511, 512, 513, 2048 };
	static const struct { enum zone_type type; unsigned int nid; } zones[] = {
		{ ZONE_NORMAL, 0 }, { ZONE_MOVABLE, 1 }, { ZONE_MOVABLE, SECTIONS_NODES - 1 },
	};
	struct added a = {};
	unsigned int z, i, j;

	for (z = 0; z < ARRAY_SIZE(zones); z++) {
		for (i = 0; i < ARRAY_SIZE(starts); i++) {
			for (j = 0; j < 2 * ARRAY_SIZE(lengths); j++) {
				a = (struct added){ zones[z].type, zones[z].nid, starts[i],
						    lengths[j / 2], MIGRATE_MOVABLE, j % 2 };
				if (added(c, &a))
					return -1;
			}
		}
	}
	for (i = 0; i < ARRAY_SIZE(reserves); i++) {
		for (j = 0; j < ARRAY_SIZE(frees); j++) {
			a = (struct added){ ZONE_DEVICE, 0, 512, 4096, MIGRATE_MOVABLE, false, true,
					    reserves[i], frees[j] };
			if (added(c, &a))
				return -1;
		}
	}
	a.altmap = false;
	return added(c, &a);
}

static void nothing(struct page *page)
{
}

static void flag(struct page *page, unsigned int bit)
{
	/* The type of flags differs between kernels. */
	*(unsigned long *)&page->flags |= 1UL << bit;
}

static void reserved(struct page *page)
{
	flag(page, PG_reserved);
}

static void locked(struct page *page)
{
	flag(page, PG_locked);
}

static void dirty(struct page *page)
{
	flag(page, PG_dirty);
}

static void poisoned(struct page *page)
{
	flag(page, PG_hwpoison);
}

static void private(struct page *page)
{
	page->private = 1;
}

static void mapping(struct page *page)
{
	page->mapping = (void *)page;
}

static void index(struct page *page)
{
	page->share = 1;
}

static void charged(struct page *page)
{
#ifdef CONFIG_MEMCG
	page->memcg_data = 8;
#endif
}

/* Freeing takes a compound page apart, and would complain about any but a whole one. */
static void head(struct page *page)
{
	flag(page, PG_head);
}

static void listed(struct page *page)
{
	page->lru.next = (void *)(page + 1);
}

static void listed_before(struct page *page)
{
	page->lru.prev = (void *)(page + 1);
}

static void not_offline(struct page *page)
{
	page->page_type = UINT_MAX;
}

static void counted(struct page *page)
{
	set_page_count(page, 7);
}

static void cpupid(struct page *page)
{
	*(unsigned long *)&page->flags ^= 1UL << LAST_CPUPID_PGSHIFT;
}

static const struct change changes[] = {
	{ "nothing", nothing }, { "reserved", reserved }, { "locked", locked },
	{ "dirty", dirty }, { "poisoned", poisoned }, { "private", private },
	{ "mapping", mapping }, { "index", index }, { "charged", charged },
	{ "listed", listed }, { "listed before", listed_before },
	{ "not offline", not_offline }, { "counted", counted }, { "cpupid", cpupid },
	{ "head", head },
};

static int freed(struct comparison *c, const struct change *change, unsigned int order,
		 unsigned long at, bool isolate)
{
	const struct added a = { ZONE_MOVABLE, 1, 0, PAGES_PER_SECTION, MIGRATE_MOVABLE, isolate };
	const enum hosted_side sides[] = { HOSTED_BASE, hosted_checked(c->check) };
	char what[160];
	unsigned int i;

	hosted_format(what, sizeof(what), "freeing order %u, page %lu %s%s", order, at,
		      change->name, isolate ? ", isolated" : "");
	c->check->combinations++;
	for (i = 0; i < ARRAY_SIZE(sides); i++) {
		begin(c, sides[i]);
		/* What is added is compared elsewhere. */
		add(&a, HOSTED_BASE);
		change->make(&c->memmap[PAGES_PER_SECTION + at]);
		sections_zero_counts();
		sections_free_order(sides[i], BASE_PFN, order);
		if (order < MAX_PAGE_ORDER)
			sections_free_order(sides[i], BASE_PFN + (1UL << order), order);
		if (settle(c, sides[i], what))
			return -1;
	}
	return 0;
}

static int all_freed(struct comparison *c)
{
	static const unsigned int orders[] = { 0, 1, 3, 9, MAX_PAGE_ORDER };
	unsigned int i, j, k;

	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		const unsigned long places[] = { 0, 1, (1UL << orders[i]) / 2,
						 (1UL << orders[i]) - 1, 1UL << orders[i] };

		for (j = 0; j < ARRAY_SIZE(places); j++) {
			for (k = 0; k < 2 * ARRAY_SIZE(changes); k++) {
				/* A debugging kernel warns about these. */
				if (IS_ENABLED(CONFIG_DEBUG_VM) &&
				    (changes[k / 2].make == reserved ||
				     changes[k / 2].make == head))
					continue;
				if (freed(c, &changes[k / 2], orders[i], places[j], k % 2))
					return -1;
			}
		}
	}
	return 0;
}

struct work {
	const struct added *added;
	enum hosted_side side;
	bool free;
};

static void work(void *data)
{
	const struct work *w = data;

	if (w->free)
		sections_free_order(w->side, BASE_PFN, pageblock_order);
	else
		add(w->added, w->side);
}

/* Only the patched side is instrumented. */
#ifdef __SANITIZE_ADDRESS__
#define INSTRUMENTED	true
#else
#define INSTRUMENTED	false
#endif

/*
 * Slow code would also be right. So count the instructions that it takes to write, and
 * to free, the struct pages of one pageblock.
 */
static int memmap_costs(struct comparison *c)
{
	static const struct added device = { ZONE_DEVICE, 0, 0, 4096, MIGRATE_MOVABLE, false,
					     true, 0, 512 };
	static const struct added block = { ZONE_MOVABLE, 0, 0, 4096, MIGRATE_MOVABLE };
	static const char *const names[] = { "writing", "freeing", "freeing unchecked" };
	unsigned long instructions[2];
	unsigned int i, what;

	for (what = 0; what < ARRAY_SIZE(names); what++) {
		const bool free = what > 0;

		for (i = 0; i < 2; i++) {
			const enum hosted_side side = i ? hosted_checked(c->check) : HOSTED_BASE;
			struct work w = { &device, side, free };
			struct hosted_trace trace = {};

			begin(c, w.side);
			if (free)
				add(&block, w.side);
			sections_checks(w.side, what == 1);
			hosted_single_step(work, &w, &trace);
			sections_checks(w.side, false);
			c->check->stepped++;
			instructions[i] = trace.instructions;
		}
		/* 7 or 8 tenths, by compiler. */
		if (10 * instructions[1] <= 9 * instructions[0])
			continue;
		hosted_format(c->check->text, sizeof(c->check->text),
			      "%s a pageblock takes base %lu instructions, and the new code %lu",
			      names[what], instructions[0], instructions[1]);
		return -1;
	}
	return 0;
}

int memmap_check(struct hosted_check *check)
{
	static struct outcome *base;
	struct comparison c = { check, pfn_to_page(FIRST_PFN) };

	if (!base)
		base = hosted_arena(sizeof(*base));
	c.base = base;
	if (!INSTRUMENTED && !hosted_is_posted(hosted_checked(check)) && memmap_costs(&c))
		return -1;
	if (all_added(&c) || all_freed(&c))
		return -1;
	sections_checks(HOSTED_BASE, true);
	sections_checks(hosted_checked(check), true);
	if (all_freed(&c))
		return -1;
	sections_checks(HOSTED_BASE, false);
	sections_checks(hosted_checked(check), false);
	return 0;
}
