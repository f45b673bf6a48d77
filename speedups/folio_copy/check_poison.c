// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulate machine checks in the source: at the first and last byte and in the first
 * and last cache line of a page; in the first, a middle and the last page, and on both
 * sides of the middle; with registers that lag behind; with poison that goes away; with
 * two poisoned pages. The right page must be reported, and no other, after one machine
 * check by the range and one by the loop over pages, and perhaps one before by "auto".
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

HOSTED_ENTRY(folio_mc_copy);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);

#define ORDER		3U
#define PAGES		(1UL << ORDER)
#define LARGE_ORDER	9U
#define SRC		(1UL << LARGE_ORDER)
#define LINE		64UL

static const char *const methods[] = { "base", "bulk", "stream", "auto" };
static const unsigned long pages[] = { 0, 1, PAGES / 2 - 1, PAGES / 2, PAGES - 2, PAGES - 1 };
static const unsigned long offsets[] = {
	0, LINE - 1, LINE, PAGE_SIZE / 2, PAGE_SIZE - LINE, PAGE_SIZE - 1,
};

struct poison_run {
	const struct folios_cpu *cpu;
	const char *method;
	enum hosted_side side;
	unsigned long page, offset, second;
	unsigned long early;
	unsigned int gone_after;
	bool large;		/* LARGE_ORDER */
	bool read;		/* before the copy, to see if it is in the cache */
	int result;
};

static unsigned long nr_pages(const struct poison_run *run)
{
	return 1UL << (run->large ? LARGE_ORDER : ORDER);
}

static void copy(void *data)
{
	struct poison_run *run = data;

	run->result = folio_mc_copy_of[0][run->side]((struct folio *)folios_page(0),
						     (struct folio *)folios_page(SRC));
}

static int wrong(struct hosted_check *check, const struct poison_run *run, const char *what,
		 long got, long expected)
{
	hosted_format(check->text, sizeof(check->text),
		      "%s %s on CPU %s, poison in page %lu at %lu%s, registers %lu bytes early%s: %s: got %ld, expected %ld",
		      run->side == HOSTED_BASE ? "base's" : "patched", run->method, run->cpu->name, run->page,
		      run->offset, run->second ? " and in another page" : "", run->early,
		      run->gone_after ? ", gone at the second access" : "", what, got, expected);
	return -1;
}

static bool has_erms(const struct folios_cpu *cpu)
{
	return cpu->erms < 0 ? hosted_cpu_has("erms") > 0 : cpu->erms;
}

/*
 * Whether the code that meets the poison has an exception table entry. Posted code must
 * have one where base has one.
 */
static bool survives(const struct poison_run *run)
{
	if (run->cpu->fragile || has_erms(run->cpu))
		return true;
	if (hosted_is_posted(run->side))
		return false;
	return run->side == HOSTED_PATCHED;	/* all of these have rep_good */
}

/*
 * Whether a loop copies, instead of a string instruction. Loops are single-stepped
 * from the start of the page to the poison, which is slow.
 */
static bool is_loop(const struct poison_run *run)
{
	if (run->cpu->fragile || !strcmp(run->method, "stream") || hosted_is_posted(run->side))
		return true;
	return !survives(run);
}

static int judge(struct hosted_check *check, const struct poison_run *run,
		 const struct hosted_poison *poison)
{
	bool posted = hosted_is_posted(run->side), again = strcmp(run->method, "base");
	/* What stops a range is met again by the loop over pages, unless it is gone then. */
	bool gone = run->gone_after && again;
	unsigned int checks = (again && !gone ? 2 : 1) + (run->read && !gone);
	unsigned long named;
	unsigned int failures = check_failures(&named);

	/* Posted code may survive what base does not, and may copy a page again or not. */
	if (posted && !poison->fatal && run->result)
		gone = false;
	if (posted ? poison->fatal && survives(run) : poison->fatal != !survives(run))
		return wrong(check, run, "panics", poison->fatal, !survives(run));
	if (poison->fatal)
		return 0;
	if (posted ? !poison->taken : poison->taken != checks)
		return wrong(check, run, "machine checks", poison->taken, checks);

	if (run->result != (gone ? 0 : -EHWPOISON))
		return wrong(check, run, "result", run->result, gone ? 0 : -EHWPOISON);
	if (failures != !gone)
		return wrong(check, run, "pages reported as poisoned", failures, !gone);
	if (!gone && named != SRC + run->page)
		return wrong(check, run, "page reported as poisoned", named - SRC, run->page);
	if (gone && memcmp(folios_address(0), folios_address(SRC), nr_pages(run) << PAGE_SHIFT))
		return wrong(check, run, "bytes differ", 1, 0);
	return 0;
}

static int check_one(struct hosted_check *check, struct poison_run *run)
{
	const char *from = folios_address(SRC);
	struct hosted_poison poison = {
		.at = {
			from + (run->page << PAGE_SHIFT) + run->offset,
			run->second ? from + (run->second << PAGE_SHIFT) + run->offset : NULL,
		},
		.from = from,
		.early = run->early,
		.gone_after = run->gone_after,
	};

	/* Large ones always run, because these are few. */
	if ((!check_turn(check) && !run->large) || (SANITIZED && !survives(run)))
		return 0;
	memset(folios_address(0), 0, nr_pages(run) << PAGE_SHIFT);
	hosted_with_poison(copy, run, &poison);
	check->runs++;
	check->bytes += nr_pages(run) << PAGE_SHIFT;
	return judge(check, run, &poison);
}

/* Whether it is the first, the last, or a middle page. */
static bool is_end(unsigned long page)
{
	return page == 0 || page == PAGES / 2 || page == PAGES - 1;
}

static int check_places(struct hosted_check *check, struct poison_run *run)
{
	bool slow = is_loop(run), plain = !run->gone_after && !run->early;
	unsigned int i, j;

	/* What comes after a panic does not matter, and the registers of a loop do not lag. */
	if ((!survives(run) && !plain) || (slow && run->early))
		return 0;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		run->page = pages[i];
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			run->offset = offsets[j];
			if (slow && run->offset > LINE && !(plain && is_end(run->page)))
				continue;
			if (check_one(check, run))
				return -1;
		}
		run->offset = offsets[i % 2];
		if (run->page == PAGES - 1)
			continue;
		run->second = PAGES - 1;
		if (check_one(check, run))
			return -1;
		run->second = 0;
	}
	return 0;
}

static int check_kinds(struct hosted_check *check, struct poison_run *run)
{
	for (run->gone_after = 0; run->gone_after < 2; run->gone_after++) {
		for (run->early = 0; run->early <= LINE; run->early += LINE) {
			if (check_places(check, run))
				return -1;
		}
	}
	return 0;
}

/* Whether @cpu is the one of those with its loop that checks it. */
static bool checks_streaming(const struct folios_cpu *cpu)
{
	return cpu->movdir64b > 0 || !strcmp(cpu->name, "rep_good");
}

static int check_cpu(struct hosted_check *check, struct poison_run *run)
{
	unsigned int i;

	run->side = HOSTED_BASE;
	run->method = "base";
	if (check_kinds(check, run))
		return -1;

	run->side = hosted_checked(check);
	if (hosted_is_posted(run->side)) {
		run->method = "posted";
		return check_kinds(check, run);
	}
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		run->method = methods[i];
		if (!strcmp(run->method, "stream") && !checks_streaming(run->cpu))
			continue;
		if (folio_copy_set_method_of[0](run->method))
			return wrong(check, run, "rejected methods", 1, 0);
		if (check_kinds(check, run))
			return -1;
	}
	return 0;
}

/*
 * Poison in the lines of a large folio that "auto" reads, and in others. It streams if the
 * reads are slow, and does not read the source if those of the destination are fast. This
 * takes few steps on a CPU whose string instructions are fast.
 */
static int check_reads(struct hosted_check *check)
{
	static const unsigned long ns[][FOLIOS_TIMES] = { { 200, 200 }, { 200, 50 }, { 50, 50 } };
	static const struct {
		unsigned long page, offset;
		bool read;
	} poisons[] = {
		{ 0, 0, true }, { 128, LINE, true }, { 256, 2 * LINE, true }, { 384, 3 * LINE, true },
		{ 0, LINE, false }, { 5, 0, false }, { 511, PAGE_SIZE - LINE, false },
	};
	struct poison_run run = {
		.cpu = &folios_cpus[1], .method = "auto", .side = HOSTED_PATCHED, .large = true,
	};
	unsigned int i;
	int ret = 0;

	folios_make(0, LARGE_ORDER);
	folios_make(SRC, LARGE_ORDER);
	folios_be(run.cpu);
	if (folio_copy_set_method_of[0](run.method))
		return wrong(check, &run, "rejected methods", 1, 0);
	for (i = 0; !ret && i < 6 * ARRAY_SIZE(poisons); i++) {
		run.page = poisons[i / 6].page;
		run.offset = poisons[i / 6].offset;
		run.gone_after = i / 3 % 2;
		run.read = poisons[i / 6].read && i % 3 < 2;
		folios_times = ns[i % 3];
		folios_timed = 0;
		ret = check_one(check, &run);
	}
	folios_times = NULL;
	return ret;
}

int check_poison(struct hosted_check *check)
{
	struct poison_run run = {};
	unsigned long *word = folios_address(SRC), i;

	for (i = 0; i < (PAGE_SIZE << LARGE_ORDER) / sizeof(*word); i++)
		word[i] = i * 0x9e3779b97f4a7c15UL;
	folios_make(0, ORDER);
	folios_make(SRC, ORDER);
	for (i = 0; i < folios_nr_cpus; i++) {
		run.cpu = &folios_cpus[i];
		folios_be(run.cpu);
		if (check_cpu(check, &run))
			return -1;
	}
	if (hosted_is_posted(hosted_checked(check)))
		return 0;
	return check_reads(check);
}

/*
 * Posted code whose registers lag by a line where a page begins: what is left to copy
 * then seems to begin in the page before.
 */
int check_lag(struct hosted_check *check)
{
	struct poison_run run = {
		.method = "posted", .side = hosted_checked(check), .early = LINE,
	};
	unsigned int i, j;

	if (!hosted_is_posted(run.side))
		return 0;
	folios_make(0, ORDER);
	folios_make(SRC, ORDER);
	for (i = 0; i < folios_nr_cpus; i++) {
		run.cpu = &folios_cpus[i];
		folios_be(run.cpu);
		for (j = 1; j < ARRAY_SIZE(pages) && survives(&run); j++) {
			run.page = pages[j];
			if (check_one(check, &run))
				return -1;
		}
	}
	return 0;
}
