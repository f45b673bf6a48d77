// SPDX-License-Identifier: GPL-2.0-only
/* A hosted program: check that all sides produce the same image, then time them. */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

enum { STATUS_UNEQUAL = 1, STATUS_USAGE = 2, MAX_ROWS = 32 + HOSTED_NR_POSTED, MAX_ONLY = 64 };

/* Small images take less than a millisecond, so more samples are affordable. */
#define SHORT_IMAGE	(64UL << 20)
#define SHORT_FACTOR	5

/* Runs of a sample of a case with HOSTED_SHORT. */
#define SHORT_ROUNDS	64

static void usage(void)
{
	fputs("usage: hosted [--case NAME]... [--all] [--items N] [--pairs N] [--seed N] [--llc BYTES]\n"
	      "              [--cached BYTES] [--budget SECONDS] [--cpu FEATURE=0|1]... [--compared]\n"
	      "              [--show-unequal] [--only-posted] [--check[=STRIDE] [--posted N] |\n"
	      "              --check-only | --list]\n",
	      stderr);
	exit(STATUS_USAGE);
}

static void force_feature(char *text)
{
	char *value = strchr(text, '=');

	if (!value || (strcmp(value, "=0") && strcmp(value, "=1")))
		usage();
	*value++ = '\0';
	if (*value == '1' && !strcmp(text, "movdir64b") && hosted_cpu_has(text) == 0)
		hosted_die("this CPU does not have movdir64b, which the engine executes "
			   "too slowly to be timed");
	if (hosted_cpu_force(text, *value == '1') < 0)
		usage();
}

static void name_workload(struct workload *w)
{
	unsigned long mib = w->items * hosted_bench.item_memory >> 20;
	const char *name = w->c->name, *at = strchr(name, '@');
	char size[24];

	if (mib && mib % 1024 == 0)
		snprintf(size, sizeof(size), "%luG", mib / 1024);
	else if (mib && w->items * hosted_bench.item_memory % (1UL << 20) == 0)
		snprintf(size, sizeof(size), "%luM", mib);
	else
		snprintf(size, sizeof(size), "%lu", w->items);

	if (w->c->items && at)
		snprintf(w->name, sizeof(w->name), "%.*s%s%s", (int)(at - name), name, size, at + 1);
	else if (!w->c->items || w->c->flags & HOSTED_FIXED)
		snprintf(w->name, sizeof(w->name), "%s", name);
	else
		snprintf(w->name, sizeof(w->name), "%s-%s", name, size);
}

static struct workload make_workload(const struct plan *plan, const struct hosted_case *c)
{
	struct workload w = { .c = c, .pairs = plan->pairs };

	if (!c->items)
		w.items = plan->cached_bytes / c->llc_part / hosted_bench.item_bytes;
	else
		w.items = plan->items && !(c->flags & HOSTED_FIXED) ? plan->items : c->items;
	w.bytes = w.items * hosted_bench.item_bytes;
	w.memory = w.bytes * (1 + hosted_bench.beside);
	w.rounds = c->flags & HOSTED_SHORT ? SHORT_ROUNDS : 1;
	if (w.bytes < SHORT_IMAGE)
		w.pairs *= SHORT_FACTOR;
	name_workload(&w);
	return w;
}

static bool wanted(const struct plan *plan, const struct workload *w)
{
	if (!plan->nr_only && w->c->cpus > cpus_here())
		return false;
	if (!plan->nr_only)
		return plan->all || !(w->c->flags & HOSTED_EXTRA_CASE);
	for (unsigned int i = 0; i < plan->nr_only; i++) {
		if (!strcmp(plan->only[i], w->name) || !strcmp(plan->only[i], w->c->name))
			return true;
	}
	return false;
}

static bool missing(const struct hosted_variant *v)
{
	return v->setting && hosted_bench.select(v->setting) < 0;
}

/* In a case for several CPUs, each limit is also run on one, if it writes the image. */
static unsigned int limit_rows(const struct hosted_case *c, const struct hosted_limit *limit,
			       bool fill, struct row *rows)
{
	unsigned int nr = c->cpus > 1 && !(c->flags & HOSTED_NO_FILLS) ? 2 : 1;

	for (unsigned int i = 0; i < nr; i++) {
		rows[i] = (struct row){ .limit = limit, .fill = fill, .one_cpu = i };
		snprintf(rows[i].name, sizeof(rows->name), "limit:%s%s", limit->name,
			 i ? HOSTED_ONE_CPU : "");
	}
	return nr;
}

static unsigned int make_rows(const struct plan *plan, const struct hosted_case *c,
			      struct row *rows)
{
	const struct hosted_limit *fills[FILLS];
	bool filled = hosted_bench.fills && !(c->flags & HOSTED_NO_FILLS);
	unsigned int nr = 0, nr_fills = filled ? fills_here(fills) : 0;

	for (unsigned int i = 0; i < hosted_bench.nr_variants; i++) {
		const struct hosted_variant *v = &hosted_bench.variants[i];

		if (missing(v) || (plan->only_posted && v->side == HOSTED_PATCHED) ||
		    (v->applies && !v->applies(c)))
			continue;
		rows[nr] = (struct row){ .variant = v };
		snprintf(rows[nr++].name, sizeof(rows->name), "%s", v->name);
	}
	nr += posted_rows(rows + nr);
	for (unsigned int i = 0; i < hosted_bench.nr_limits; i++) {
		const struct hosted_limit *limit = &hosted_bench.limits[i];

		if (limit->bounds && !limit->bounds(c))
			continue;
		nr += limit_rows(c, limit, false, rows + nr);
	}
	for (unsigned int i = 0; i < nr_fills; i++)
		nr += limit_rows(c, fills[i], true, rows + nr);
	return nr;
}

static void note_missing(const struct workload *w)
{
	char text[128];

	if (w->c->cpus > cpus_here()) {
		snprintf(text, sizeof(text), "for %u CPUs, but this process may use %u: its times mean nothing",
			 w->c->cpus, cpus_here());
		event_note(w->name, text);
	}

	for (unsigned int i = 0; i < hosted_bench.nr_variants; i++) {
		const struct hosted_variant *v = &hosted_bench.variants[i];

		if (!missing(v))
			continue;
		snprintf(text, sizeof(text), "%s: not on this CPU", v->name);
		event_note(w->name, text);
	}
}

static struct plan parse(int argc, char **argv)
{
	static const struct option options[] = {
		{ "case", required_argument, NULL, 'c' },
		{ "all", no_argument, NULL, 'a' },
		{ "items", required_argument, NULL, 'i' },
		{ "pairs", required_argument, NULL, 'p' },
		{ "seed", required_argument, NULL, 's' },
		{ "llc", required_argument, NULL, 'l' },
		{ "cached", required_argument, NULL, 'C' },
		{ "cpu", required_argument, NULL, 'f' },
		{ "budget", required_argument, NULL, 'b' },
		{ "compared", no_argument, NULL, 'm' },
		{ "show-unequal", no_argument, NULL, 'u' },
		{ "only-posted", no_argument, NULL, 'o' },
		{ "check-only", no_argument, NULL, 'k' },
		{ "check", optional_argument, NULL, 'x' },
		{ "posted", required_argument, NULL, 'P' },
		{ "list", no_argument, NULL, 'L' },
		{}
	};
	static const char *only[MAX_ONLY];
	struct plan plan = {
		.only = only,
		.pairs = 20,
		.seed = 1,
		.checked = HOSTED_PATCHED,
		.llc_bytes = arena_llc_bytes(),
	};
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (option) {
		case 'c':
			if (plan.nr_only == MAX_ONLY)
				usage();
			only[plan.nr_only++] = optarg;
			break;
		case 'a':
			plan.all = true;
			break;
		case 'i':
			plan.items = strtoul(optarg, NULL, 0);
			break;
		case 'p':
			plan.pairs = strtoul(optarg, NULL, 0);
			break;
		case 's':
			plan.seed = strtoull(optarg, NULL, 0);
			break;
		case 'l':
			plan.llc_bytes = strtoul(optarg, NULL, 0);
			plan.llc_given = true;
			break;
		case 'C':
			plan.cached_bytes = strtoul(optarg, NULL, 0);
			plan.cached_given = true;
			break;
		case 'f':
			force_feature(optarg);
			break;
		case 'b':
			plan.budget_ns = strtoull(optarg, NULL, 0) * 1000000000ULL;
			break;
		case 'x':
			plan.stride = optarg ? strtoul(optarg, NULL, 0) : 1;
			if (!plan.stride)
				usage();
			break;
		case 'P':
			plan.checked = HOSTED_POSTED + strtoul(optarg, NULL, 0);
			if (plan.checked >= HOSTED_SIDES)
				usage();
			break;
		case 'm':
			plan.compared = true;
			break;
		case 'o':
			plan.only_posted = true;
			break;
		case 'u':
			plan.show_unequal = true;
			break;
		case 'L':
			plan.list_only = true;
			break;
		case 'k':
			plan.check_only = true;
			break;
		default:
			usage();
		}
	}
	return plan;
}

/* The part of the reported cache that hot cases are made for, if nothing else is known. */
#define UNKNOWN	4

/*
 * Find out how much memory stays cached, which sizes the hot cases. The tool measures
 * it once and passes it on, so that all processes of a run have the same cases.
 */
static struct cache learn_cache(struct plan *plan)
{
	struct cache cache = { .reported = plan->llc_bytes };

	if (!plan->llc_given)
		cache.kept = plan->cached_bytes;
	if (!plan->stride && !plan->check_only && !(plan->list_only && plan->cached_given))
		cache_measure(&cache, !plan->llc_given && !plan->cached_given);
	if (!cache.kept)
		plan->cached_bytes = plan->llc_given ? plan->llc_bytes : plan->llc_bytes / UNKNOWN;
	else
		plan->cached_bytes = cache.kept < plan->llc_bytes ? cache.kept : plan->llc_bytes;
	return cache;
}

int main(int argc, char **argv)
{
	struct row rows[MAX_ROWS];
	unsigned int cpus = 1;
	unsigned long most = 0;
	struct cache cache;
	struct plan plan;
	bool equal = true, good = true;
	unsigned char *effects = NULL;
	void *image = NULL;

	hosted_cpu_from_cpuid();
	plan = parse(argc, argv);
	engine_start();
	cache = learn_cache(&plan);

	if (plan.stride && !hosted_bench.check)
		usage();
	if (plan.stride) {
		event_engine(&cache);
		equal = check_run(plan.stride, plan.checked);
		event_done();
		return equal ? 0 : STATUS_UNEQUAL;
	}

	for (unsigned int i = 0; i < hosted_bench.nr_cases; i++) {
		struct workload w = make_workload(&plan, &hosted_bench.cases[i]);

		if (!wanted(&plan, &w))
			continue;
		if (w.bytes > most)
			most = w.bytes;
		if (w.c->cpus > cpus)
			cpus = w.c->cpus;
	}
	if (!most)
		usage();
	if (!plan.list_only) {
		cpus_make(cpus);
		image = arena_map_with(most, hosted_bench.beside);
		effects = calloc(1, most / EFFECTS_SHARE + 1);
		if (!effects)
			hosted_die("no memory for the effects");
		hosted_effects_at(effects, most / EFFECTS_SHARE + 1);
		hosted_bench.setup(image, most);
	}

	event_engine(&cache);
	if (hosted_bench.check_first && !plan.list_only && !plan.compared)
		good = check_run(1, HOSTED_PATCHED);
	for (unsigned int i = 0; i < hosted_bench.nr_cases; i++) {
		struct workload w = make_workload(&plan, &hosted_bench.cases[i]);
		bool same = true;
		unsigned int nr;

		if (!wanted(&plan, &w))
			continue;
		w.image = image;
		w.effects = effects;
		if (hosted_bench.begin && !plan.list_only)
			hosted_bench.begin(w.c);
		nr = make_rows(&plan, w.c, rows);
		event_case(&w, rows, nr);
		if (plan.list_only || !good)
			continue;
		note_missing(&w);
		if (plan.compared)
			image_poison(&w);
		else
			same = image_check(&w, rows, nr);
		equal = equal && same && !posted_differs(rows, nr);
		if (!plan.show_unequal)
			nr = posted_drop_unequal(rows, nr);
		if (same && !plan.check_only) {
			note_regime(&cache, &w, &rows[0]);
			measure(&plan, &w, rows, nr, plan.seed + i);
		}
	}
	event_done();

	return equal && good ? 0 : STATUS_UNEQUAL;
}
