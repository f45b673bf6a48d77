// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy large folios on write, with writes to pages at their ends, next to these and in the
 * middle, on every kind of CPU and with every method. Then check with poison which page is
 * reported.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

HOSTED_ENTRY(copy_user_large_folio);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);

#define GIGANTIC_ORDER	11U	/* above MAX_PAGE_ORDER, and more than a piece */
#define GIGANTIC	(1UL << GIGANTIC_ORDER)
#define AROUND		4UL
#define DST		(GIGANTIC + 2 * AROUND)
#define UNIT		(SZ_4M >> PAGE_SHIFT)
#define WORDS		(PAGE_SIZE / sizeof(unsigned long))
#define GUARD		0x5a5a5a5a5a5a5a5aUL
#define USER		(3UL << 30)	/* address of a mapping, aligned to every folio */
#define ORDER		3U
#define LINE		64UL

static const char *const methods[] = { "base", "bulk", "stream", "auto" };

struct user_run {
	const struct folios_cpu *cpu;
	const char *method;
	enum hosted_side side;
	unsigned int order;
	unsigned long written;		/* the page that user space writes to */
	unsigned long poison, second;	/* poisoned pages, the same for only one */
	unsigned long offset;
	int result;
};

static void copy(void *data)
{
	struct user_run *run = data;
	unsigned long addr = USER + (run->written << PAGE_SHIFT) + 8;

	run->result = copy_user_large_folio_of[0][run->side](
		(struct folio *)folios_page(DST), (struct folio *)folios_page(0), addr, NULL);
}

static int wrong(struct hosted_check *check, const struct user_run *run, const char *what,
		 long got, long expected)
{
	hosted_format(check->text, sizeof(check->text),
		      "%s %s, copy_user_large_folio() of order %u for page %lu, CPU %s, poison in pages %lu and %lu at %lu: %s: got %ld, expected %ld",
		      run->side == HOSTED_BASE ? "base's" : "patched", run->method, run->order,
		      run->written, run->cpu->name, run->poison, run->second, run->offset,
		      what, got, expected);
	return -1;
}

static unsigned long source_word(unsigned long i, unsigned long seed)
{
	return (i + seed) * 0x9e3779b97f4a7c15UL | 1;
}

static void fill_source(unsigned long nr, unsigned long seed)
{
	unsigned long *from = folios_address(0), i;

	for (i = 0; i < nr * WORDS; i++)
		from[i] = source_word(i, seed);
}

static void fill_guard(unsigned long page, unsigned long nr)
{
	unsigned long *at = folios_address(page), i;

	for (i = 0; i < nr * WORDS; i++)
		at[i] = GUARD;
}

static int check_guard(struct hosted_check *check, const struct user_run *run,
		       unsigned long page)
{
	const unsigned long *at = folios_address(page);
	unsigned long i;

	for (i = 0; i < AROUND * WORDS; i++) {
		if (at[i] != GUARD)
			return wrong(check, run, "a word around the copy", at[i], GUARD);
	}
	return 0;
}

/* Base offers to reschedule before each page, and patched code before each piece. */
static unsigned long expected_offers(const struct user_run *run)
{
	unsigned long nr = 1UL << run->order;

	if (IS_ENABLED(CONFIG_PREEMPTION))
		return 0;
	if (run->side == HOSTED_BASE || !strcmp(run->method, "base"))
		return nr;
	return DIV_ROUND_UP(nr, UNIT);
}

static int check_one(struct hosted_check *check, struct user_run *run)
{
	unsigned long nr = 1UL << run->order, seed = run->written, i, offers;
	const unsigned long *from = folios_address(0), *to = folios_address(DST);

	if (!check_turn(check))
		return 0;
	if (hosted_is_posted(run->side))
		run->method = "posted";
	else if (run->side == HOSTED_PATCHED && folio_copy_set_method_of[0](run->method))
		return wrong(check, run, "rejected methods", 1, 0);
	folios_make(0, run->order);
	folios_make(DST, run->order);
	fill_source(nr, seed);
	fill_guard(DST - AROUND, nr + 2 * AROUND);

	offers = hosted_reschedules();
	copy(run);
	offers = hosted_reschedules() - offers;
	check->runs++;
	if (run->result)
		return wrong(check, run, "result", run->result, 0);
	if (check_failures(&i))
		return wrong(check, run, "page reported as poisoned", i, 0);
	if (!hosted_is_posted(run->side) && offers != expected_offers(run))
		return wrong(check, run, "calls of cond_resched()", offers,
			     expected_offers(run));
	for (i = 0; i < nr * WORDS; i++) {
		if (to[i] != source_word(i, seed) || from[i] != to[i])
			return wrong(check, run, "the word that differs", i, 0);
	}
	check->bytes += 2 * nr << PAGE_SHIFT;
	return check_guard(check, run, DST - AROUND) || check_guard(check, run, DST + nr) ? -1 : 0;
}

static int check_pages(struct hosted_check *check, struct user_run *run)
{
	unsigned long nr = 1UL << run->order, i;
	const unsigned long pages[] = { 0, 1, nr / 2, nr - 2, nr - 1 };

	/* A folio of order 1 has two pages, which are the first two here. */
	for (i = 0; i < (nr == 2 ? 2 : ARRAY_SIZE(pages)); i++) {
		run->written = pages[i];
		if (check_one(check, run))
			return -1;
	}
	return 0;
}

static int check_bytes(struct hosted_check *check, struct user_run *run)
{
	static const unsigned int orders[] = { 1, 2, 4, PMD_ORDER, GIGANTIC_ORDER };
	unsigned int i, j;

	run->poison = run->second = run->offset = 0;
	for (i = 0; i < ARRAY_SIZE(orders); i++) {
		run->order = orders[i];
		if (run->order == GIGANTIC_ORDER && run->cpu != folios_cpus)
			break;
		run->side = HOSTED_BASE;
		run->method = "base";
		if (check_pages(check, run))
			return -1;
		run->side = hosted_checked(check);
		for (j = 0; j < (hosted_is_posted(run->side) ? 1 : ARRAY_SIZE(methods)); j++) {
			run->method = methods[j];
			if (check_pages(check, run))
				return -1;
		}
	}
	return 0;
}

/* With one or two poisoned pages; the loop over pages reports the first of these. */
static const struct user_poison {
	unsigned long written, poison, second;
} poisons[] = {
	{ 3, 4, 4 }, { 3, 7, 7 }, { 3, 0, 0 }, { 3, 2, 2 }, { 3, 3, 3 },
	{ 3, 0, 4 }, { 3, 2, 7 }, { 5, 1, 5 }, { 0, 0, 1 }, { 7, 6, 7 },
};

static int check_poison_at(struct hosted_check *check, struct user_run *run)
{
	const char *from = folios_address(0);
	struct hosted_poison poison = {
		.at = {
			from + (run->poison << PAGE_SHIFT) + run->offset,
			run->second == run->poison ? NULL :
				from + (run->second << PAGE_SHIFT) + run->offset,
		},
		.from = from,
	};
	bool by_page = !strcmp(run->method, "base");
	unsigned int checks = by_page ? 1 : 2, failures;
	unsigned long named;

	/* Always run, because these are few. */
	check_turn(check);
	folios_make(0, ORDER);
	folios_make(DST, ORDER);
	hosted_with_poison(copy, run, &poison);
	check->runs++;
	failures = check_failures(&named);
	if (poison.fatal)
		return wrong(check, run, "panics", 1, 0);
	if (run->result != -EHWPOISON)
		return wrong(check, run, "result", run->result, -EHWPOISON);
	if (failures != 1)
		return wrong(check, run, "pages reported as poisoned", failures, 1);
	if (hosted_is_posted(run->side))
		return 0;
	/* The kernel's own loop copies them in another order. */
	if (named != run->poison && !(by_page && named == run->second))
		return wrong(check, run, "page reported as poisoned", named, run->poison);
	if (poison.taken != checks)
		return wrong(check, run, "machine checks", poison.taken, checks);
	return 0;
}

static int check_poisons(struct hosted_check *check, struct user_run *run)
{
	unsigned int i;

	run->order = ORDER;
	for (i = 0; i < 2 * ARRAY_SIZE(poisons); i++) {
		run->written = poisons[i / 2].written;
		run->poison = poisons[i / 2].poison;
		run->second = poisons[i / 2].second;
		run->offset = i % 2 ? PAGE_SIZE - LINE : 0;
		if (check_poison_at(check, run))
			return -1;
	}
	return 0;
}

int check_user(struct hosted_check *check)
{
	static const char *const poisoned[] = { "base", "bulk", "stream" };
	struct user_run run = {};
	unsigned int i, j;

	for (i = 0; i < folios_nr_cpus; i++) {
		run.cpu = &folios_cpus[i];
		folios_be(run.cpu);
		if (check_bytes(check, &run))
			return -1;

		/* Without ERMS, the kernel's own code panics, and posted code may. */
		if (!run.cpu->fragile && run.cpu->erms != 1 &&
		    hosted_is_posted(hosted_checked(check)))
			continue;
		fill_source(1UL << ORDER, 1);
		run.side = hosted_checked(check);
		for (j = 0; j < (hosted_is_posted(run.side) ? 1 : ARRAY_SIZE(poisoned)); j++) {
			run.method = hosted_is_posted(run.side) ? "posted" : poisoned[j];
			if (!hosted_is_posted(run.side) &&
			    folio_copy_set_method_of[0](run.method))
				return wrong(check, &run, "rejected methods", 1, 0);
			if (check_poisons(check, &run))
				return -1;
		}
	}
	return 0;
}
