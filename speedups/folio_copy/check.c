// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy folios of every order with every method on every kind of CPU, on both sides,
 * with guard pages around the folios and inaccessible memory next to them. Then check
 * which code copies (check_paths.c), what happens with poison (check_poison.c), and
 * copies on write (check_user.c).
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

#define MOST_ORDER	11U	/* larger than a piece of a kernel without preemption */
#define UNIT		(SZ_4M >> PAGE_SHIFT)
#define MOST		(1UL << MOST_ORDER)
#define MEMORY		(2 * MOST + 64)
#define GIGANTIC_ORDER	18U	/* a hugetlb folio, 256 pieces of such a kernel */
#define GIGANTIC_MEMORY	((2UL << GIGANTIC_ORDER) + 64)
#define AROUND		4UL	/* guard pages to compare on each side */
#define WORDS		(PAGE_SIZE / sizeof(unsigned long))
#define GUARD		0x5a5a5a5a5a5a5a5aUL

static const char *const methods[] = { "base", "bulk", "stream", "auto" };

/* Where the two folios are in the memory, which has inaccessible memory on both sides. */
static const struct check_place {
	const char *name;
	bool at_end;		/* the destination is at the end of the memory */
	bool adjacent;		/* the source is next to the destination */
} places[] = {
	{ "at the start of memory", false, false },
	{ "at the end of memory", true, false },
	{ "after its source", true, true },
	{ "before its source", false, true },
};

static unsigned long memory;	/* size in pages */
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
		      "%s %s, %s of order %u %s, CPU %s: error in %s: %lu",
		      c->side == HOSTED_BASE ? "base's" : "patched", c->method,
		      c->mc ? "folio_mc_copy()" : "folio_copy()", c->order,
		      c->place->name, c->cpu->name, what, at);
	return -1;
}

/* Check that the pages around a folio, except those of the other one, are unchanged. */
static int check_around(struct hosted_check *check, const struct check_copy *c,
		       unsigned long page, unsigned long other)
{
	unsigned long nr = 1UL << c->order, at, i;
	unsigned long from = page - min(page, AROUND), to = min(page + nr + AROUND, memory);

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

static int check_contents(struct hosted_check *check, const struct check_copy *c,
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
	if (check_around(check, c, dst, src) || check_around(check, c, src, dst))
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

	dst = c->place->at_end ? memory - nr : 0;
	if (c->place->adjacent)
		src = c->place->at_end ? dst - nr : dst + nr;
	else
		src = c->place->at_end ? 0 : memory - nr;

	from = folios_address(src);
	for (i = 0; i < nr * WORDS; i++)
		from[i] = source_word(i, dst);
	to_folio = folios_make(dst, c->order);
	from_folio = folios_make(src, c->order);

	offers = hosted_reschedules();
	if (!c->mc)
		folio_copy_of[0][c->side](to_folio, from_folio);
	else if (folio_mc_copy_of[0][c->side](to_folio, from_folio))
		return wrong(check, c, "the return value", 0);
	offers = hosted_reschedules() - offers;
	check->runs++;

	/* No cond_resched() for one page, because it may be copied in atomic context. */
	want = strcmp(c->method, "base") && nr > 1 ? DIV_ROUND_UP(nr, UNIT) : nr - 1;
	if (!hosted_is_posted(c->side) &&
	    offers != (IS_ENABLED(CONFIG_PREEMPTION) ? 0 : want))
		return wrong(check, c, "the number of cond_resched() calls", offers);
	if (check_failures(&i))
		return wrong(check, c, "the pages reported as poisoned", i);
	if (check_contents(check, c, dst, src))
		return -1;
	fill(dst, nr);
	fill(src, nr);
	return 0;
}

static int check_orders(struct hosted_check *check, struct check_copy *c)
{
	for (c->order = 0; c->order <= MOST_ORDER; c->order++) {
		/* Large folios are copied at one place only, to save time. */
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
	c->side = hosted_checked(check);
	/* The series leaves folio_copy() alone. */
	for (i = 0; i < (hosted_is_posted(c->side) || !c->mc ? 1 : ARRAY_SIZE(methods)); i++) {
		c->method = hosted_is_posted(c->side) ? "posted" : methods[i];
		if (!hosted_is_posted(c->side) && folio_copy_set_method_of[0](c->method))
			return wrong(check, c, "the rejected method", i);
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

static void allocate_memory(unsigned long pages)
{
	memory = pages;
	folios_map(hosted_arena(memory << PAGE_SHIFT), memory << PAGE_SHIFT);
	fill(0, memory);
}

/* Copy 1 GiB: in one piece with preemption, and in 256 pieces without. */
static int check_gigantic(struct hosted_check *check)
{
	struct check_copy c = {
		.cpu = folios_cpus, .place = places, .side = hosted_checked(check),
		.order = GIGANTIC_ORDER,
	};
	static const char *const methods[] = { "base", "bulk", "auto" };
	bool posted = hosted_is_posted(c.side);
	unsigned int i;

	/* This takes long with a sanitizer, and would run no other code than before. */
	if (SANITIZED)
		return 0;
	allocate_memory(GIGANTIC_MEMORY);
	folios_be(c.cpu);
	c.mc = true;
	for (i = 0; i < (posted ? 1 : ARRAY_SIZE(methods)); i++) {
		c.method = posted ? "posted" : methods[i];
		if (!posted && folio_copy_set_method_of[0](c.method))
			return wrong(check, &c, "the rejected method", i);
		/* Always run, because there are only three such combinations. */
		check_turn(check);
		if (check_copy(check, &c))
			return -1;
	}
	return 0;
}

int folio_copy_check(struct hosted_check *check)
{
	allocate_memory(MEMORY);
	/* The slowest checks come last, as a mutant's run ends at the check that kills it. */
	if (check_bytes(check) || check_paths(check) || check_poison(check) ||
	    check_user(check) || check_auto(check) || check_gigantic(check))
		return -1;
	allocate_memory(MEMORY);
	return check_lag(check);
}
