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

/* From this many pages on, "auto" reads a few lines of the destination and of the source. */
#define LEAST		128UL

/* How long the reads take in ns, and whether "auto" streams after as many of the two. */
static const struct trial {
	unsigned long nr;
	unsigned long ns[FOLIOS_TIMES];
	unsigned int timed;
	bool streams;
} trials[] = {
	{ LEAST / 2, { 100, 100 }, 0, false },
	{ LEAST, { 99, 100 }, 1, false },
	{ LEAST, { 100, 99 }, 2, false },
	{ LEAST, { 100, 100 }, 2, true },
};

/* Check what "auto" makes of the times that it measures, and which folios it measures. */
int check_auto(struct hosted_check *check)
{
	/* The plain copy of this CPU takes few steps. */
	static const struct folios_cpu cpu = { "rep_good", 1, 0, 0, 0, false };
	struct path_run run = {
		.cpu = &cpu, .method = "auto", .side = HOSTED_PATCHED, .always = true,
	};
	unsigned int i;
	int ret = 0;

	if (hosted_is_posted(hosted_checked(check)))
		return 0;
	folios_be(&cpu);
	for (i = 0; !ret && i < ARRAY_SIZE(trials); i++) {
		const struct trial *trial = &trials[i];
		struct copy_path want = trial->streams ? stream(&cpu, trial->nr) :
							 bulk(&cpu, trial->nr);

		run.nr = trial->nr;
		folios_times = trial->ns;
		folios_timed = 0;
		ret = check_path(check, &run, &want);
		folios_times = NULL;
		if (!ret && folios_timed != trial->timed)
			ret = wrong(check, &run, "times taken", folios_timed, trial->timed);
	}
	return ret;
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
