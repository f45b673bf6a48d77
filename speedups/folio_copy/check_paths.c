// SPDX-License-Identifier: GPL-2.0-only
/*
 * Single-step copies to check which code runs on which CPU: for all combinations of
 * the features, with and without a fragile platform. Also check which copies use
 * streaming stores, that these are drained, and which method "auto" chooses.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <asm/mce.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

HOSTED_ENTRY(folio_mc_copy);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);
HOSTED_EXTRA(bool, folio_copy_streams, unsigned long nr, u64 plain, u64 stream);
HOSTED_EXTRA(void, folio_copy_bulk, void);
HOSTED_EXTRA(void, __copy_mc_pages_streaming, void);

unsigned long copy_mc_enhanced_fast_string(void *dst, const void *src, unsigned int len);

#define PAGES		2UL
#define SRC		512UL
#define WORDS		(PAGE_SIZE / 8)
#define LINES		(PAGE_SIZE / 64)

/* Bits of hosted_trace.visited, in the order of watched[]. */
enum {
	FRAGILE		= 1 << 0,
	FAST_STRING	= 1 << 1,
	BULK		= 1 << 2,
	STREAM		= 1 << 3,
};

/* The code that a copy is expected to run. */
struct copy_path {
	unsigned long visited;
	unsigned long movsb, movsq;
	unsigned long streamed;
	bool is_memcpy;
};

struct path_run {
	const struct folios_cpu *cpu;
	const char *method;
	enum hosted_side side;
	unsigned long nr;
	bool always;		/* never skip it, because few runs are like it */
};

static void copy(void *data)
{
	const struct path_run *run = data;
	struct folio *dst = (struct folio *)folios_page(0);
	struct folio *src = (struct folio *)folios_page(SRC);

	if (folio_mc_copy_of[0][run->side](dst, src))
		hosted_die("folio_mc_copy() reported poison, but there is none");
}

static int wrong(struct hosted_check *check, const struct path_run *run, const char *what,
		 unsigned long got, unsigned long expected)
{
	const struct folios_cpu *cpu = run->cpu;

	hosted_format(check->text, sizeof(check->text),
		      "%s %s, folio_mc_copy() of %lu pages on a CPU with rep_good %d, erms %d, fsrm %d, movdir64b %d%s: %s: got %#lx, expected %#lx",
		      run->side == HOSTED_BASE ? "base's" : "patched", run->method,
		      run->nr, cpu->rep_good, cpu->erms, cpu->fsrm, cpu->movdir64b,
		      cpu->fragile ? ", fragile" : "", what, got, expected);
	return -1;
}

/* Run one copy. Without @want, any code may copy, but it must drain what it streams. */
static int check_path(struct hosted_check *check, struct path_run *run,
		      const struct copy_path *want)
{
	struct hosted_trace got = {
		.watch = {
			copy_mc_fragile,
			copy_mc_enhanced_fast_string,
			folio_copy_bulk_of[0],
			__copy_mc_pages_streaming_of[0],
		},
	};
	unsigned int order = ilog2(run->nr);

	if ((!check_turn(check) && !run->always) || (SANITIZED && (!want || want->is_memcpy)))
		return 0;
	folios_make(0, order);
	folios_make(SRC, order);
	memset(folios_address(SRC), 0x33, run->nr << PAGE_SHIFT);
	memset(folios_address(0), 0, run->nr << PAGE_SHIFT);
	if (run->side == HOSTED_PATCHED && folio_copy_set_method_of[0](run->method))
		return wrong(check, run, "rejected methods", 1, 0);

	hosted_single_step(copy, run, &got);
	check->runs++;
	check->stepped++;
	check->streamed += got.streamed;
	if (memcmp(folios_address(0), folios_address(SRC), run->nr << PAGE_SHIFT))
		return wrong(check, run, "bytes differ", 1, 0);
	if (got.undrained)
		return wrong(check, run, "undrained stores", got.undrained, 0);
	if (!want)
		return 0;
	if (got.visited != want->visited)
		return wrong(check, run, "functions called", got.visited, want->visited);
	if (got.movsb != want->movsb)
		return wrong(check, run, "rep movsb", got.movsb, want->movsb);
	if (got.movsq != want->movsq)
		return wrong(check, run, "rep movsq", got.movsq, want->movsq);
	if (got.streamed != want->streamed)
		return wrong(check, run, "streaming stores", got.streamed, want->streamed);
	return 0;
}

/* What copy_mc_to_kernel() runs, for each page or for the range. */
static struct copy_path plainly(const struct folios_cpu *cpu, enum hosted_side side,
				unsigned long nr)
{
	struct copy_path path = {};

	if (cpu->fragile) {
		path.visited = FRAGILE;
	} else if (cpu->erms) {
		path.visited = FAST_STRING;
		path.movsb = nr * PAGE_SIZE;
	} else if (cpu->rep_good && side == HOSTED_PATCHED) {
		path.movsq = nr * WORDS;
	} else {
		path.is_memcpy = true;
		path.movsb = cpu->fsrm ? nr * PAGE_SIZE : 0;
	}
	return path;
}

static struct copy_path bulk(const struct folios_cpu *cpu, unsigned long nr)
{
	struct copy_path path = plainly(cpu, HOSTED_PATCHED, nr);

	path.visited |= BULK;
	return path;
}

static struct copy_path stream(const struct folios_cpu *cpu, unsigned long nr)
{
	struct copy_path path = {};

	if (cpu->fragile) {
		path.visited = FRAGILE;
	} else {
		path.visited = STREAM;
		path.streamed = nr * (cpu->movdir64b ? LINES : WORDS);
	}
	return path;
}

static int check_cpu(struct hosted_check *check, const struct folios_cpu *cpu)
{
	struct path_run run = { .cpu = cpu, .side = HOSTED_BASE, .method = "base", .nr = 1 };
	struct copy_path want = plainly(cpu, run.side, 1);

	folios_be(cpu);
	if (check_path(check, &run, &want))
		return -1;

	run.side = hosted_checked(check);
	run.nr = PAGES;
	if (hosted_is_posted(run.side)) {
		run.method = "posted";
		return check_path(check, &run, NULL);
	}
	want = plainly(cpu, run.side, PAGES);
	if (check_path(check, &run, &want))
		return -1;
	run.method = "bulk";
	run.always = cpu->fragile;
	want = bulk(cpu, PAGES);
	if (check_path(check, &run, &want))
		return -1;
	run.always = false;
	run.method = "stream";
	want = stream(cpu, PAGES);
	if (check_path(check, &run, &want))
		return -1;

	/* One page is copied by the kernel's own code. */
	run.method = "auto";
	run.nr = 1;
	want = plainly(cpu, run.side, 1);
	return check_path(check, &run, &want);
}

/* "auto" copies some pages plainly, and streams more and more to see if that is faster. */
#define PLAIN		16UL	/* 8 of them are timed */
#define LARGE		512UL
#define LEAST		256UL	/* the fewest pages of which it tries some */

/* CPUs on which the plain copy takes few steps, and that stream words or lines. */
static const struct folios_cpu words_cpu = { "rep_good", 1, 0, 0, 0, false };
static const struct folios_cpu lines_cpu = { "movdir64b", 1, 0, 0, 1, false };

/*
 * What "auto" measures in ns, and what follows. It streams 2, 8, 56 and 32 pages, as long
 * as that takes at most 8/4, 5/4 and 5/4 of the time of a plain copy, and the rest if it
 * took less than 2/3, or 4/5 if it streams lines, because a reader would wait longer. Between
 * this and the time of a plain copy, it goes on only if it streams lines.
 */
static const struct trial {
	const struct folios_cpu *cpu;
	unsigned long ns[FOLIOS_TIMES];
	unsigned int timed;
	unsigned long streamed;		/* pages, or 0 for the rest too */
	unsigned long nr;
} trials[] = {
	{ &words_cpu, { 8000, 1333 }, 2, 0, LEAST },
	{ &words_cpu, { 8000, 1334 }, 2, 2, LEAST },
	{ &words_cpu, { 8000, 1999 }, 2, 2, LEAST },
	{ &words_cpu, { 8000, 4001 }, 2, 2, LARGE },
	{ &words_cpu, { 8000, 2000, 5333 }, 3, 0, LEAST },
	{ &words_cpu, { 8000, 4000, 7999 }, 3, 10, LEAST },
	{ &words_cpu, { 8000, 4000, 10001 }, 3, 10, LEAST },
	{ &words_cpu, { 8000, 4000, 8000, 55999 }, 4, 66, LEAST },
	{ &words_cpu, { 8000, 4000, 8000, 70001 }, 4, 66, LEAST },
	{ &words_cpu, { 8000, 4000, 10000, 70000, 21333 }, 5, 0, LEAST },
	{ &words_cpu, { 8000, 4000, 10000, 70000, 21334 }, 5, 98, LEAST },
	{ &lines_cpu, { 8000, 1599 }, 2, 0, LEAST },
	{ &lines_cpu, { 8000, 1600, 6399 }, 3, 0, LEAST },
	{ &lines_cpu, { 8000, 1600, 6400, 44800, 25599 }, 5, 0, LEAST },
	{ &lines_cpu, { 8000, 4000, 10000, 44800, 25600 }, 5, 98, LEAST },
	{ &lines_cpu, { 8000, 4001 }, 2, 2, LEAST },
};

/* Where nothing of a folio stays in the cache, a small gain is enough. */
static const struct choice {
	const struct folios_cpu *cpu;
	unsigned long nr;
	unsigned long plain, stream;
	bool streams;
} choices[] = {
	{ &words_cpu, (SZ_256M >> PAGE_SHIFT) - 1, 900, 599, true },
	{ &words_cpu, (SZ_256M >> PAGE_SHIFT) - 1, 900, 600, false },
	{ &words_cpu, SZ_256M >> PAGE_SHIFT, 900, 899, true },
	{ &words_cpu, SZ_256M >> PAGE_SHIFT, 900, 900, false },
	{ &words_cpu, LARGE, 0, 0, false },	/* a clock that stands */
	{ &lines_cpu, (SZ_256M >> PAGE_SHIFT) - 1, 1000, 799, true },
	{ &lines_cpu, (SZ_256M >> PAGE_SHIFT) - 1, 1000, 800, false },
	{ &lines_cpu, SZ_256M >> PAGE_SHIFT, 1000, 999, true },
	{ &lines_cpu, LARGE, 0, 0, false },
};

static int check_trial(struct hosted_check *check, const struct trial *trial)
{
	struct path_run run = {
		.cpu = trial->cpu, .method = "auto", .side = HOSTED_PATCHED,
		.nr = trial->nr, .always = true,
	};
	unsigned long streamed = trial->streamed ? trial->streamed : trial->nr - PLAIN;
	struct copy_path want = {
		.visited = BULK | STREAM,
		.movsq = (trial->nr - streamed) * WORDS,
		.streamed = streamed * (trial->cpu->movdir64b ? LINES : WORDS),
	};
	int ret;

	folios_be(trial->cpu);
	folios_times = trial->ns;
	folios_timed = 0;
	ret = check_path(check, &run, &want);
	folios_times = NULL;
	if (!ret && folios_timed != trial->timed)
		return wrong(check, &run, "measured parts", folios_timed, trial->timed);
	return ret;
}

/* Check what "auto" makes of the times that it measures, and which folios it measures. */
int check_auto(struct hosted_check *check)
{
	struct path_run run = {
		.cpu = &words_cpu, .method = "auto", .side = HOSTED_PATCHED,
		.nr = LEAST / 2,
	};
	struct copy_path want = bulk(&words_cpu, run.nr);
	unsigned int i;

	if (hosted_is_posted(hosted_checked(check)))
		return 0;
	for (i = 0; i < ARRAY_SIZE(choices); i++) {
		const struct choice *c = &choices[i];

		run.cpu = c->cpu;
		folios_be(c->cpu);
		if (folio_copy_streams_of[0](c->nr, c->plain, c->stream) != c->streams)
			return wrong(check, &run, "the choice", !c->streams, c->streams);
	}

	run.cpu = &words_cpu;
	folios_be(&words_cpu);
	if (check_path(check, &run, &want))
		return -1;
	for (i = 0; i < ARRAY_SIZE(trials); i++) {
		if (check_trial(check, &trials[i]))
			return -1;
	}
	return 0;
}

int check_paths(struct hosted_check *check)
{
	unsigned int i;

	for (i = 0; i < 32; i++) {
		struct folios_cpu cpu = {
			.name = "simulated",
			.rep_good = i & 1,
			.erms = i >> 1 & 1,
			.fsrm = i >> 2 & 1,
			.movdir64b = i >> 3 & 1,
			.fragile = i >> 4 & 1,
		};

		if (check_cpu(check, &cpu))
			return -1;
	}
	return 0;
}
