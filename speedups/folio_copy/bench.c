// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for folio_copy(), folio_mc_copy() and copy_user_large_folio(). */
#include <linux/kernel.h>
#include <linux/mm.h>

#include "hosted.h"
#include "check.h"
#include "folios.h"

HOSTED_ENTRY(folio_copy);
HOSTED_ENTRY(folio_mc_copy);
HOSTED_ENTRY(copy_user_large_folio);
HOSTED_EXTRA(int, folio_copy_set_method, const char *name);

#define LINE		64UL
#define PAGES_2M	(SZ_2M >> PAGE_SHIFT)
#define PAGES_1G	(SZ_1G >> PAGE_SHIFT)

enum { ORDER_4K, ORDER_16K = 2, ORDER_32K, ORDER_64K = 4, ORDER_2M = 9, ORDER_1G = 18 };

struct folio_copy_case {
	unsigned int order;
	bool mc;
	bool user;		/* a write to @written copies the folio */
	bool reads;		/* the page @written is read after that */
	unsigned long written;
	bool warm;		/* the source is in the cache */
	bool huge;		/* too large for the cache */
	unsigned int cpu;	/* index into folios_cpus[] */
};

enum { AS_FOUND, REP_GOOD, ERMS, FSRM, FRAGILE };

/*
 * The states in which migration finds folios: neither folio is in the cache (cold);
 * the destination was just freed and zeroed (warm); both are in the cache; or the source
 * was just used. Some cases also read the copy. Of smaller folios, so many are copied
 * that they make up 2 MiB. Cases on other CPUs than the real one are extra. Those of
 * 1 GiB take long, so they are extra too, except the migration whose copy is read.
 */
#define IS_EXTRA(order, cpu, reads)	((cpu) || ((order) == ORDER_1G && !(reads)))
#define CASE(_name, _regime, _pages, _flags, _order, _warm, _mc, _cpu)	\
	{ _name, _regime, _pages, 0,					\
	  HOSTED_FIXED | (_flags) |					\
		(IS_EXTRA(_order, _cpu, (_mc) && (_flags) & HOSTED_READBACK) ?	\
		 HOSTED_EXTRA_CASE : 0),				\
	  &(const struct folio_copy_case){				\
		.order = _order, .mc = _mc, .warm = _warm,		\
		.huge = _order == ORDER_1G, .cpu = _cpu } }

#define OF_2M(fn, mc, cpu, on, as)					\
	CASE(fn "2M-cold-cold" on, "cold to cold" as, PAGES_2M, 0,	\
	     ORDER_2M, false, mc, cpu),					\
	CASE(fn "2M-cold-warm" on, "cold to warm" as, PAGES_2M, HOSTED_HOT, \
	     ORDER_2M, false, mc, cpu),					\
	CASE(fn "2M-warm-warm" on, "warm to warm" as, PAGES_2M, HOSTED_HOT, \
	     ORDER_2M, true, mc, cpu),					\
	CASE(fn "2M-cold-cold-read" on, "cold to cold, read back" as,	\
	     PAGES_2M, HOSTED_READBACK, ORDER_2M, false, mc, cpu)
#define OF_USED								\
	CASE("mc-2M-warm-cold", "warm to cold", PAGES_2M, 0,		\
	     ORDER_2M, true, true, AS_FOUND),				\
	CASE("mc-2M-warm-cold-read", "warm to cold, read back", PAGES_2M, \
	     HOSTED_READBACK, ORDER_2M, true, true, AS_FOUND)
#define OF_64K(fn, mc, cpu, on, as)					\
	CASE(fn "64K-cold-cold" on, "cold to cold" as, PAGES_2M, 0,	\
	     ORDER_64K, false, mc, cpu),				\
	CASE(fn "64K-cold-warm" on, "cold to warm" as, PAGES_2M, HOSTED_HOT, \
	     ORDER_64K, false, mc, cpu),				\
	CASE(fn "64K-warm-warm" on, "warm to warm" as, PAGES_2M, HOSTED_HOT, \
	     ORDER_64K, true, mc, cpu),					\
	CASE(fn "64K-cold-cold-read" on, "cold to cold, read back" as,	\
	     PAGES_2M, HOSTED_READBACK, ORDER_64K, false, mc, cpu)
#define OF_SMALL(fn, mc, size)						\
	CASE(fn #size "-cold-cold", "cold to cold", PAGES_2M, 0,	\
	     ORDER_##size, false, mc, AS_FOUND),			\
	CASE(fn #size "-warm-warm", "warm to warm", PAGES_2M, HOSTED_HOT, \
	     ORDER_##size, true, mc, AS_FOUND)
#define OF_1G(fn, mc, cpu, on, as)					\
	CASE(fn "1G-cold-cold" on, "cold to cold" as, PAGES_1G, 0,	\
	     ORDER_1G, false, mc, cpu),					\
	CASE(fn "1G-cold-cold-read" on, "cold to cold, read back" as,	\
	     PAGES_1G, HOSTED_READBACK, ORDER_1G, false, mc, cpu)
#define BELOW_1G(fn, mc, cpu, on, as)					\
	OF_2M(fn, mc, cpu, on, as), OF_64K(fn, mc, cpu, on, as)

/*
 * A write to a page that is shared copies its folio. Only hugetlb does that to a large
 * folio: a write to another huge mapping splits it, and copies one page. The last case
 * reads the page that was written to, as its user does next.
 */
#define ON_WRITE(_name, _regime, _pages, _flags, _order, _warm, _page, _reads, _cpu) \
	{ "cow-" _name, "on write, " _regime, _pages, 0,		\
	  HOSTED_FIXED | (_flags) |					\
		(IS_EXTRA(_order, _cpu, false) ? HOSTED_EXTRA_CASE : 0),	\
	  &(const struct folio_copy_case){				\
		.order = _order, .mc = true, .user = true,		\
		.written = _page, .reads = _reads, .warm = _warm,	\
		.huge = _order == ORDER_1G, .cpu = _cpu } }
#define OF_COW(page, cpu, on, as)					\
	ON_WRITE("2M-cold-cold" on, "cold to cold" as, PAGES_2M, 0,	\
		 ORDER_2M, false, page, false, cpu),			\
	ON_WRITE("2M-cold-warm" on, "cold to warm" as, PAGES_2M, HOSTED_HOT, \
		 ORDER_2M, false, page, false, cpu),			\
	ON_WRITE("2M-warm-warm" on, "warm to warm" as, PAGES_2M, HOSTED_HOT, \
		 ORDER_2M, true, page, false, cpu),			\
	ON_WRITE("2M-cold-cold-page" on, "cold to cold, the page read back" as, \
		 PAGES_2M, 0, ORDER_2M, false, page, true, cpu),	\
	ON_WRITE("2M-warm-warm-page" on, "warm to warm, the page read back" as, \
		 PAGES_2M, HOSTED_HOT, ORDER_2M, true, page, true, cpu)

/* Some CPUs copy folios of their own at the same time, as when several nodes are emptied. */
#define EACH(cpus, name, regime, pages, flags, ...)			\
	{ name "-each-" #cpus "cpu", regime ", " #cpus " CPUs", pages, 0, \
	  HOSTED_FIXED | HOSTED_EXTRA_CASE | (flags),			\
	  &(const struct folio_copy_case){ __VA_ARGS__ }, cpus }
#define EACH_ROWS(cpus)							\
	EACH(cpus, "mc-2M-cold-cold", "cold to cold", (cpus) * PAGES_2M, 0, \
	     .order = ORDER_2M, .mc = true),				\
	EACH(cpus, "mc-2M-warm-warm", "warm to warm", (cpus) * PAGES_2M, HOSTED_HOT, \
	     .order = ORDER_2M, .mc = true, .warm = true),		\
	EACH(cpus, "mc-64K-cold-cold", "cold to cold", (cpus) * PAGES_2M, 0, \
	     .order = ORDER_64K, .mc = true),				\
	EACH(cpus, "mc-1G-of-2M-cold-cold", "cold to cold", PAGES_1G, 0, \
	     .order = ORDER_2M, .mc = true, .huge = true)

static const struct hosted_case folio_copy_cases[] = {
	BELOW_1G("", false, AS_FOUND, "", ""),
	OF_SMALL("", false, 32K),
	OF_SMALL("", false, 16K),
	OF_SMALL("", false, 4K),
	OF_1G("", false, AS_FOUND, "", ""),
	BELOW_1G("mc-", true, AS_FOUND, "", ""),
	OF_USED,
	OF_SMALL("mc-", true, 32K),
	OF_SMALL("mc-", true, 16K),
	OF_SMALL("mc-", true, 4K),
	OF_1G("mc-", true, AS_FOUND, "", ""),
	OF_COW(200, AS_FOUND, "", ""),
	ON_WRITE("1G-cold-cold", "cold to cold", PAGES_1G, 0, ORDER_1G, false, 200, false,
		 AS_FOUND),
	BELOW_1G("", false, REP_GOOD, "-rep_good", ", rep_good only"),
	BELOW_1G("mc-", true, REP_GOOD, "-rep_good", ", rep_good only"),
	BELOW_1G("", false, ERMS, "-erms", ", rep_good and erms"),
	BELOW_1G("mc-", true, ERMS, "-erms", ", rep_good and erms"),
	BELOW_1G("", false, FSRM, "-fsrm", ", rep_good and fsrm"),
	BELOW_1G("mc-", true, FSRM, "-fsrm", ", rep_good and fsrm"),
	BELOW_1G("mc-", true, FRAGILE, "-fragile", ", fragile"),
	OF_COW(200, REP_GOOD, "-rep_good", ", rep_good only"),
	OF_COW(200, FRAGILE, "-fragile", ", fragile"),
	EACH_ROWS(2),
	EACH_ROWS(4),
	EACH_ROWS(8),
};

static const struct hosted_variant folio_copy_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "bulk",	HOSTED_PATCHED, "bulk" },
	{ "stream",	HOSTED_PATCHED, "stream" },
	{ "auto",	HOSTED_PATCHED, "auto" },
};

/* The first half of the memory is the image, to which pages of the second are copied. */
static unsigned long folio_copy_half;
static unsigned long folio_copy_away;	/* how much farther than half of it, in this case */

/*
 * Folios of 1 GiB differ in high bits of their addresses only. If smaller ones did, CPUs that
 * guess by the low ones where a line is in the cache would guess wrong again and again.
 */
#define FOLIO_COPY_AWAY	(89UL * SZ_2M >> PAGE_SHIFT)

static unsigned long source(unsigned long i)
{
	return folio_copy_half + (i + folio_copy_away) % folio_copy_half;
}

static void folio_copy_setup(void *image, unsigned long bytes)
{
	unsigned long *word, at;

	folio_copy_half = ALIGN(bytes, SZ_2M) >> PAGE_SHIFT;
	folios_map(image, 2 * folio_copy_half << PAGE_SHIFT);
	word = folios_address(folio_copy_half);
	for (at = 0; at < bytes / sizeof(*word); at++)
		word[at] = at * 0x9e3779b97f4a7c15UL;
}

static void folio_copy_begin(const struct hosted_case *c)
{
	const struct folio_copy_case *copy = c->data;
	unsigned long i;

	folio_copy_away = copy->order < get_order(SZ_1G) ? FOLIO_COPY_AWAY : 0;
	folios_be(&folios_cpus[copy->cpu]);
	for (i = 0; i < c->items; i += 1UL << copy->order) {
		folios_make(i, copy->order);
		folios_make(source(i), copy->order);
	}
}

static void flush(unsigned long first, unsigned long nr)
{
	hosted_flush(folios_address(first), nr << PAGE_SHIFT);
}

/* OPTIMIZER_HIDE_VAR() alone would not do: what nobody uses is dropped with it. */
static void keep(unsigned long sum)
{
	asm volatile("" : : "r" (sum));
}

static unsigned long touch(const void *page)
{
	const unsigned long *word = page;
	unsigned long sum = 0, i;

	for (i = 0; i < PAGE_SIZE / sizeof(*word); i += LINE / sizeof(*word))
		sum += word[i];
	return sum;
}

static void folio_copy_arrange(const struct hosted_case *c, unsigned long items)
{
	const struct folio_copy_case *copy = c->data;
	unsigned long i, sum = 0;

	if (copy->huge)
		return;
	if (!(c->flags & HOSTED_HOT))
		flush(0, items);
	for (i = 0; i < items; i++) {
		if (copy->warm)
			sum += touch(folios_address(source(i)));
		else
			flush(source(i), 1);
	}
	keep(sum);
}

/* Reads each line of the source once, and a copy must read all of it. */
static void folio_copy_read(void *image, unsigned long bytes)
{
	unsigned long first = (image - folios_address(0)) >> PAGE_SHIFT, sum = 0, i;

	for (i = 0; i < bytes >> PAGE_SHIFT; i++)
		sum += touch(folios_address(source(first + i)));
	keep(sum);
}

static const struct hosted_limit folio_copy_limits[] = {
	{ "read", folio_copy_read, .reads = true },
};

static int folio_copy_select(const char *setting)
{
	return HOSTED_CALL_EXTRA(folio_copy_set_method, setting);
}

/* A folio that user space writes to, mapped at an address aligned to its size. */
static void copy_on_write(const struct folio_copy_case *copy, enum hosted_side side,
			  struct folio *dst, struct folio *src)
{
	unsigned long addr = SZ_1G + (copy->written << PAGE_SHIFT);

	if (HOSTED_CALL(copy_user_large_folio, side, dst, src, addr, NULL))
		hosted_die("copy_user_large_folio() reported poison, but there is none");
	if (copy->reads)
		keep(touch(page_address(folio_page(dst, copy->written))));
}

struct folio_copy_task {
	const struct folio_copy_case *copy;
	enum hosted_side side;
	unsigned long items;	/* of each CPU */
};

static void folio_copy_part(unsigned int cpu, void *data)
{
	const struct folio_copy_task *task = data;
	const struct folio_copy_case *copy = task->copy;
	unsigned long i = cpu * task->items, end = i + task->items;
	enum hosted_side side = task->side;

	for (; i < end; i += 1UL << copy->order) {
		struct folio *dst = (struct folio *)folios_page(i);
		struct folio *src = (struct folio *)folios_page(source(i));

		if (copy->user)
			copy_on_write(copy, side, dst, src);
		else if (!copy->mc)
			HOSTED_CALL(folio_copy, side, dst, src);
		else if (HOSTED_CALL(folio_mc_copy, side, dst, src))
			hosted_die("folio_mc_copy() reported poison, but there is none");
	}
}

static void folio_copy_run(const struct hosted_case *c, enum hosted_side side,
			   unsigned long items)
{
	unsigned int cpus = max(c->cpus, 1U);
	struct folio_copy_task task = { c->data, side, items / cpus };

	if (cpus > 1)
		hosted_on_cpus(cpus, folio_copy_part, &task);
	else
		folio_copy_part(0, &task);
}

const struct hosted_bench hosted_bench = {
	.speedup	= "folio_copy",
	.item		= "page",
	.item_bytes	= PAGE_SIZE,
	.item_memory	= PAGE_SIZE,
	.cases		= folio_copy_cases,
	.nr_cases	= ARRAY_SIZE(folio_copy_cases),
	.variants	= folio_copy_variants,
	.nr_variants	= ARRAY_SIZE(folio_copy_variants),
	.fills		= true,
	.limits		= folio_copy_limits,
	.nr_limits	= ARRAY_SIZE(folio_copy_limits),
	.beside		= 1,
	.setup		= folio_copy_setup,
	.begin		= folio_copy_begin,
	.arrange	= folio_copy_arrange,
	.select		= folio_copy_select,
	.run		= folio_copy_run,
	.touch		= touch,
	.check		= folio_copy_check,
};
