// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulate machine checks in the source: at the first and last byte and in the first
 * and last cache line of a page; in the first, a middle and the last page, and on both
 * sides of the border between two pieces; with registers that lag behind; with poison
 * that goes away; with two poisoned pages. The right page must be reported, and no
 * other, after one machine check if arithmetic is exact.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

typedef unsigned long (copy_fn)(void *to, const void *from, unsigned long npages);

/* Has the layout of struct folio_copy_method. */
struct copy_method {
	const char *name;
	copy_fn *copy, *copy_mc;
};

HOSTED_ENTRY(folio_mc_copy);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);
HOSTED_EXTRA(const struct copy_method *, folio_copy_method_at, unsigned int i);
HOSTED_EXTRA(unsigned long, folio_copy_range, copy_fn *copy, void *to, const void *from,
	     unsigned long nr, unsigned long unit);

#define ORDER		3U
#define PAGES		(1UL << ORDER)
#define LARGE_ORDER	9U
#define SRC		(1UL << LARGE_ORDER)
#define UNIT		4UL
#define LINE		64UL
#define UNSURE		1024UL	/* registers that lag may be in these last bytes of a page */

static const char *const methods[] = { "base", "memcpy", "bulk", "stream", "auto" };
static const unsigned long pages[] = { 0, 1, UNIT - 1, UNIT, PAGES - 2, PAGES - 1 };
static const unsigned long offsets[] = {
	0, LINE - 1, LINE, PAGE_SIZE / 2, PAGE_SIZE - UNSURE - 1, PAGE_SIZE - UNSURE,
	PAGE_SIZE - LINE, PAGE_SIZE - 1,
};

struct poison_run {
	const struct folios_cpu *cpu;
	const char *method;
	copy_fn *in_pieces;	/* the function to pass to folio_copy_range() */
	enum hosted_side side;
	unsigned long page, offset, second;
	unsigned long early;
	unsigned int gone_after;
	bool large;		/* LARGE_ORDER, with two parts that are timed */
	int result;
};

static unsigned long nr_pages(const struct poison_run *run)
{
	return 1UL << (run->large ? LARGE_ORDER : ORDER);
}

static void copy(void *data)
{
	struct poison_run *run = data;

	if (run->in_pieces) {
		run->result = folio_copy_range_of[0](run->in_pieces, folios_address(0),
						     folios_address(SRC), PAGES, UNIT);
		return;
	}
	run->result = folio_mc_copy_of[0][run->side]((struct folio *)folios_page(0),
						     (struct folio *)folios_page(SRC));
}

static int wrong(struct hosted_check *check, const struct poison_run *run, const char *what,
		 long got, long expected)
{
	hosted_format(check->text, sizeof(check->text),
		      "%s %s%s on CPU %s, poison in page %lu at %lu%s, registers %lu bytes early%s: %s: got %ld, expected %ld",
		      run->side == HOSTED_BASE ? "base's" : "patched", run->method,
		      run->in_pieces ? " in pieces" : "", run->cpu->name, run->page,
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
	return strcmp(run->method, "base") && strcmp(run->method, "memcpy");
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

/*
 * Whether the copy stops in the last KiB of a page, so that the poison may be in the next
 * page. The registers lag, but not to before the start of the piece.
 */
static bool is_unsure(const struct poison_run *run)
{
	unsigned long piece = (run->in_pieces ? UNIT : nr_pages(run)) << PAGE_SHIFT;
	unsigned long at = (run->page << PAGE_SHIFT) + ALIGN_DOWN(run->offset, LINE);

	at -= min(run->early, at % piece);
	return strcmp(run->method, "base") && at % PAGE_SIZE >= PAGE_SIZE - UNSURE;
}

static int judge(struct hosted_check *check, const struct poison_run *run,
		 const struct hosted_poison *poison)
{
	bool posted = hosted_is_posted(run->side), unsure = is_unsure(run);
	bool gone = run->gone_after && (posted || unsure);
	unsigned int checks = unsure && !gone ? 2 : 1;
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

	if (run->in_pieces) {
		if (run->result != (gone ? PAGES : run->page))
			return wrong(check, run, "good pages", run->result,
				     gone ? PAGES : run->page);
	} else {
		if (run->result != (gone ? 0 : -EHWPOISON))
			return wrong(check, run, "result", run->result, gone ? 0 : -EHWPOISON);
		if (failures != !gone)
			return wrong(check, run, "pages reported as poisoned", failures, !gone);
		if (!gone && named != SRC + run->page)
			return wrong(check, run, "page reported as poisoned", named - SRC, run->page);
	}
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

	if (!check_turn(check) || (SANITIZED && !survives(run)))
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
	return page == 0 || page == UNIT || page == PAGES - 1;
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
	const struct copy_method *method;
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

	for (i = 0; (method = folio_copy_method_at_of[0](i)); i++) {
		run->method = method->name;
		run->in_pieces = method->copy_mc;
		if (!run->in_pieces)
			continue;
		if (!strcmp(run->method, "stream") && !checks_streaming(run->cpu))
			continue;
		if (check_kinds(check, run))
			return -1;
	}
	run->in_pieces = NULL;
	return 0;
}

/*
 * Poison in the pages of a large folio that "auto" tries, on both sides of their borders,
 * in several of those before, and in the rest, whether that is streamed or not. This
 * takes few steps on a CPU whose string instructions are fast.
 */
static int check_parts(struct hosted_check *check)
{
	static const unsigned long ns[][FOLIOS_TIMES] = {
		{ 8000, 3000, 11000 }, { 8000, 3000, 9000, 30000 },
	};
	static const unsigned long poisons[] = {
		0, 1, 3, 5, 7, 8, 15, 16, 17, 18, 25, 26, 81, 82, (1UL << LARGE_ORDER) - 1,
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
	for (i = 0; !ret && i < 4 * ARRAY_SIZE(poisons); i++) {
		run.page = poisons[i / 4];
		run.gone_after = i / 2 % 2;
		run.offset = run.gone_after ? PAGE_SIZE - LINE : 0;
		folios_times = ns[i % 2];
		folios_timed = 0;
		ret = check_one(check, &run);
	}
	folios_times = NULL;
	return ret;
}

/*
 * A folio of 16 GiB, which only other architectures have. Nothing is copied, but the
 * offset of the poison must not be truncated to 32 bits.
 */
#define LONG_PAGES	(16UL << 30 >> PAGE_SHIFT)
#define LONG_UNIT	(1UL << 30 >> PAGE_SHIFT)
#define LONG_MEMORY	((void *)(1UL << 40))

static unsigned long long_poison, long_largest;

static unsigned long long_copy_mc(void *to, const void *from, unsigned long npages)
{
	unsigned long first = (from - LONG_MEMORY) >> PAGE_SHIFT;

	long_largest = max(long_largest, npages);
	if (long_poison < first || long_poison >= first + npages)
		return 0;
	return (first + npages - long_poison) << PAGE_SHIFT;
}

static int check_long(struct hosted_check *check)
{
	static const unsigned long poisons[] = {
		0, LONG_UNIT - 1, 4 * LONG_UNIT - 1, 4 * LONG_UNIT, 4 * LONG_UNIT + 1,
		LONG_PAGES - 1, LONG_PAGES,
	};
	unsigned long i, offers, want, good;

	for (i = 0; i < ARRAY_SIZE(poisons); i++) {
		if (!check_turn(check))
			continue;
		long_poison = poisons[i];
		long_largest = 0;
		offers = hosted_reschedules();
		good = folio_copy_range_of[0](long_copy_mc, LONG_MEMORY, LONG_MEMORY,
					      LONG_PAGES, LONG_UNIT);
		offers = hosted_reschedules() - offers;
		check->runs++;
		/* Without preemption, one cond_resched() before each piece but the first. */
		want = IS_ENABLED(CONFIG_PREEMPTION) ? 0 :
		       min(long_poison, LONG_PAGES - 1) / LONG_UNIT;
		if (good != long_poison || long_largest > LONG_UNIT || offers != want) {
			hosted_format(check->text, sizeof(check->text),
				      "16 GiB with poison in page %lu: %lu good pages, at most %lu at once, %lu calls of cond_resched(), expected %lu",
				      long_poison, good, long_largest, offers, want);
			return -1;
		}
	}
	return 0;
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
	return check_parts(check) || check_long(check) ? -1 : 0;
}
