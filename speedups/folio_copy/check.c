// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every order at several places against the source, by every method as every CPU,
 * on both sides, with guard pages around and walls where they fit. Then the paths
 * (check_paths.c) and the poison (check_poison.c).
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

HOSTED_ENTRY(folio_copy);
HOSTED_ENTRY(folio_mc_copy);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);

#define MOST_ORDER	11U	/* more than a cooperative kernel copies at once */
#define UNIT		(SZ_4M >> PAGE_SHIFT)
#define MOST		(1UL << MOST_ORDER)
#define ROOM		(2 * MOST + 64)
#define GIGANTIC_ORDER	18U	/* a hugetlb folio, 256 times that */
#define GIGANTIC_ROOM	((2UL << GIGANTIC_ORDER) + 64)
#define AROUND		4UL	/* pages on each side that are looked at */
#define WORDS		(PAGE_SIZE / sizeof(unsigned long))
#define GUARD		0x5a5a5a5a5a5a5a5aUL

static const char *const methods[] = { "base", "memcpy", "bulk", "stream", "auto" };

/* Page numbers: what is copied lies between walls, and beside its source. */
static const struct check_place {
	const char *name;
	bool at_end;		/* of the room, for the destination */
	bool adjacent;
} places[] = {
	{ "after a wall", false, false },
	{ "before a wall", true, false },
	{ "behind its source", true, true },
	{ "before its source", false, true },
};

static unsigned long room;	/* pages that there are */
static unsigned int failures;
static unsigned long first_failure;

void memory_failure_queue(unsigned long pfn, int flags)
{
	if (!failures++)
		first_failure = folios_index(pfn);
}

unsigned int check_failures(unsigned long *first)
{
	unsigned int were = failures;

	*first = first_failure;
	failures = 0;
	return were;
}

bool check_turn(struct hosted_check *check)
{
	return check->combinations++ % check->stride == 0;
}

static unsigned long source_word(unsigned long i, unsigned long seed)
{
	return (i + seed) * 0x9e3779b97f4a7c15UL | 1;
}

struct check_copy {
	const struct folios_cpu *cpu;
	const struct check_place *place;
	const char *method;
	enum hosted_side side;
	unsigned int order;
	bool mc;
};

static int wrong(struct hosted_check *check, const struct check_copy *c, const char *what,
		 unsigned long at)
{
	hosted_format(check->text, sizeof(check->text),
		      "%s %s, %s of order %u %s, CPU %s: wrong in %s: %lu",
		      c->side == HOSTED_BASE ? "base's" : "patched", c->method,
		      c->mc ? "folio_mc_copy()" : "folio_copy()", c->order,
		      c->place->name, c->cpu->name, what, at);
	return -1;
}

/* The words of some pages, which belong to none of two copies, are as they were. */
static int look_around(struct hosted_check *check, const struct check_copy *c,
		       unsigned long page, unsigned long other)
{
	unsigned long nr = 1UL << c->order, at, i;
	unsigned long from = page - min(page, AROUND), to = min(page + nr + AROUND, room);

	for (at = from; at < to; at++) {
		const unsigned long *word = folios_address(at);

		if ((at >= page && at < page + nr) || (at >= other && at < other + nr))
			continue;
		for (i = 0; i < WORDS; i++) {
			if (word[i] != GUARD)
				return wrong(check, c, "a page around it", i);
		}
	}
	return 0;
}

static int look_at(struct hosted_check *check, const struct check_copy *c,
		   unsigned long dst, unsigned long src)
{
	const unsigned long *to = folios_address(dst), *from = folios_address(src);
	unsigned long nr = WORDS << c->order, i;

	for (i = 0; i < nr; i++) {
		if (to[i] != source_word(i, dst))
			return wrong(check, c, "the copy", i);
		if (from[i] != source_word(i, dst))
			return wrong(check, c, "the source", i);
	}
	check->bytes += 2 * nr * sizeof(*to);
	if (look_around(check, c, dst, src) || look_around(check, c, src, dst))
		return -1;
	return 0;
}

static void fill(unsigned long page, unsigned long nr)
{
	unsigned long *at = folios_address(page), i;

	for (i = 0; i < nr * WORDS; i++)
		at[i] = GUARD;
}

static int check_copy(struct hosted_check *check, const struct check_copy *c)
{
	unsigned long nr = 1UL << c->order, dst, src, i, *from;
	struct folio *to_folio, *from_folio;
	unsigned long offers, want;

	dst = c->place->at_end ? room - nr : 0;
	if (c->place->adjacent)
		src = c->place->at_end ? dst - nr : dst + nr;
	else
		src = c->place->at_end ? 0 : room - nr;

	from = folios_address(src);
	for (i = 0; i < nr * WORDS; i++)
		from[i] = source_word(i, dst);
	to_folio = folios_make(dst, c->order);
	from_folio = folios_make(src, c->order);

	offers = hosted_reschedules();
	if (!c->mc)
		folio_copy_of[0][c->side](to_folio, from_folio);
	else if (folio_mc_copy_of[0][c->side](to_folio, from_folio))
		return wrong(check, c, "what it returned", 0);
	offers = hosted_reschedules() - offers;
	check->runs++;

	/* None for one page, which is copied in atomic context too. */
	want = DIV_ROUND_UP(nr, strcmp(c->method, "base") ? UNIT : 1) - 1;
	if (offers != (IS_ENABLED(CONFIG_PREEMPTION) ? 0 : want))
		return wrong(check, c, "chances to reschedule", offers);
	if (check_failures(&i))
		return wrong(check, c, "pages called poisoned", i);
	if (look_at(check, c, dst, src))
		return -1;
	fill(dst, nr);
	fill(src, nr);
	return 0;
}

static int check_orders(struct hosted_check *check, struct check_copy *c)
{
	for (c->order = 0; c->order <= MOST_ORDER; c->order++) {
		/* What is large is so at one place. */
		if (c->order > PMD_ORDER && c->place != places)
			break;
		if (check_turn(check) && check_copy(check, c))
			return -1;
	}
	return 0;
}

static int check_methods(struct hosted_check *check, struct check_copy *c)
{
	unsigned int i;

	c->side = HOSTED_BASE;
	c->method = "base";
	if (check_orders(check, c))
		return -1;
	c->side = HOSTED_PATCHED;
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		c->method = methods[i];
		if (folio_copy_set_method_of[0](c->method))
			return wrong(check, c, "refused methods", i);
		if (check_orders(check, c))
			return -1;
	}
	return 0;
}

static int check_bytes(struct hosted_check *check)
{
	struct check_copy c = {};
	unsigned int cpu, place, mc;

	for (cpu = 0; cpu < folios_nr_cpus; cpu++) {
		c.cpu = &folios_cpus[cpu];
		folios_be(c.cpu);
		for (place = 0; place < ARRAY_SIZE(places); place++) {
			c.place = &places[place];
			for (mc = 0; mc < 2; mc++) {
				c.mc = mc;
				if (check_methods(check, &c))
					return -1;
			}
		}
	}
	return 0;
}

static void use_room(unsigned long pages)
{
	room = pages;
	folios_map(hosted_arena(room << PAGE_SHIFT), room << PAGE_SHIFT);
	fill(0, room);
}

/* 1 GiB: at once where the kernel can be preempted, in 256 pieces where it can't. */
static int check_gigantic(struct hosted_check *check)
{
	struct check_copy c = {
		.cpu = folios_cpus, .place = places, .side = HOSTED_PATCHED,
		.order = GIGANTIC_ORDER,
	};
	static const char *const both[] = { "base", "auto" };
	unsigned int i;

	/* A sanitizer would see nothing here that it has not seen, and take long. */
	if (SANITIZED)
		return 0;
	use_room(GIGANTIC_ROOM);
	folios_be(c.cpu);
	for (i = 0; i < 4; i++) {
		c.method = both[i / 2];
		c.mc = i % 2;
		if (folio_copy_set_method_of[0](c.method))
			return wrong(check, &c, "refused methods", i);
		/* Too few are like it to leave any out. */
		check_turn(check);
		if (check_copy(check, &c))
			return -1;
	}
	return 0;
}

int folio_copy_check(struct hosted_check *check)
{
	use_room(ROOM);
	if (check_bytes(check) || check_paths(check) || check_poison(check) ||
	    check_gigantic(check))
		return -1;
	return 0;
}
