// SPDX-License-Identifier: GPL-2.0-only
/*
 * Methods for replicating a descriptor over the memmap of device memory, and how
 * one is chosen.
 *
 * Which method is fastest depends on the CPU and on the memory. Streaming stores
 * are usually faster where the memmap is in no cache. They can be slower where it
 * is cached, or where the memory handles such stores badly. So "auto" measures:
 *
 * - A memmap that fits into the cache gets the plain copy. It is likely to be read
 *   next, and streaming stores would evict it.
 * - On a large memmap, each method writes a few of the first sections and is timed.
 *   The fastest writes the rest and is remembered for this kind of backing. On 100
 *   GB this costs less than 2 %. It can cost more only if a method is far slower
 *   than the copy and a compound is larger than a section, because a compound is
 *   never left half written.
 * - Sizes between these two use the remembered method for their kind of backing, or
 *   else the architecture's first method that this CPU supports.
 */

#include "zone_device_internal.h"

#include <asm/zone_device.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"zone_device."

/* Used if the machine does not describe its caches. */
#define ZONE_DEVICE_DEFAULT_LLC	(32UL << 20)

/* Each method is timed this many times; its best time counts. */
#define ZONE_DEVICE_ROUNDS	3

/* A range is large if one round of all methods takes at most 1/32 of it. */
#define ZONE_DEVICE_TRIAL_SHARE	32

/* A method must be faster by more than 1/64 to replace one that is preferred. */
#define ZONE_DEVICE_MARGIN	64

/* A section is timed in pieces, so that a slow method can be stopped early. */
#define ZONE_DEVICE_PIECES	8

#define ZONE_DEVICE_MAX_METHODS	8

static bool zone_device_copy_usable(void)
{
	return true;
}

static void zone_device_copy_stamp(struct page *page, const struct page *tmpl,
				   unsigned long nr)
{
	for (; nr; nr--, page++)
		memcpy(page, tmpl, sizeof(*page));
}

static const struct zone_device_method zone_device_copy = {
	.name	= "copy",
	.usable	= zone_device_copy_usable,
	.stamp	= zone_device_copy_stamp,
};

/* Values of the parameter that are not methods. */
static const struct zone_device_method zone_device_auto = { .name = "auto" };
static const struct zone_device_method zone_device_base = { .name = "base" };

static const struct zone_device_method *zone_device_chosen = &zone_device_auto;

/* The fastest method of the last trial, for a memmap in RAM and in an altmap. */
static const struct zone_device_method *zone_device_winner[2];

/**
 * zone_device_method_at - enumerate the methods
 * @i: index, from 0
 *
 * Return: the method, whether or not this machine supports it, or NULL after the
 * last.
 */
const struct zone_device_method *zone_device_method_at(unsigned int i)
{
	const struct zone_device_method *const *method;

	for (method = arch_zone_device_methods; *method; method++) {
		if (!i--)
			return *method;
	}

	return i ? NULL : &zone_device_copy;
}

/**
 * zone_device_remembered - get the result of the last trial
 * @altmap: whether the memmap lies in device memory
 *
 * Return: the method that was fastest, or NULL before the first trial.
 */
const struct zone_device_method *zone_device_remembered(bool altmap)
{
	return READ_ONCE(zone_device_winner[altmap]);
}

/**
 * zone_device_set_method - choose how later calls replicate descriptors
 * @name: a method, "auto" to let the kernel choose, or "base" for the slow path
 *
 * Calls in progress finish with the method they started with.
 *
 * Return: 0, -EINVAL for an unknown name, or -EOPNOTSUPP for a method that does
 * not support this CPU or this size of struct page.
 */
int zone_device_set_method(const char *name)
{
	const struct zone_device_method *method;
	unsigned int i;

	if (sysfs_streq(name, zone_device_auto.name)) {
		WRITE_ONCE(zone_device_chosen, &zone_device_auto);
		return 0;
	}
	if (sysfs_streq(name, zone_device_base.name)) {
		WRITE_ONCE(zone_device_chosen, &zone_device_base);
		return 0;
	}

	for (i = 0; (method = zone_device_method_at(i)); i++) {
		if (!sysfs_streq(name, method->name))
			continue;
		if (!method->usable())
			return -EOPNOTSUPP;
		WRITE_ONCE(zone_device_chosen, method);
		return 0;
	}

	return -EINVAL;
}

/**
 * zone_device_method - get the name that zone_device_set_method() accepted last
 *
 * Return: a name that lives as long as the kernel.
 */
const char *zone_device_method(void)
{
	return READ_ONCE(zone_device_chosen)->name;
}

DEFINE_METHOD_PARAM(zone_device);
MODULE_PARM_DESC(method, "How the memmap of device memory is written: auto, base, copy or a streaming method of this CPU");

/**
 * zone_device_is_off - test whether the slow path writes everything
 *
 * Return: true if the chosen method is "base".
 */
bool zone_device_is_off(void)
{
	return READ_ONCE(zone_device_chosen) == &zone_device_base;
}

static bool zone_device_can(const struct zone_device_method *method)
{
	return method->usable() && (!method->ready || method->ready());
}

static const struct zone_device_method *zone_device_default(void)
{
	const struct zone_device_method *method;
	unsigned int i;

	for (i = 0; (method = zone_device_method_at(i)); i++) {
		if (zone_device_can(method))
			return method;
	}

	return &zone_device_copy;
}

/*
 * Time @method on @nr PFNs. A method that takes more than twice @best is stopped,
 * and @run's method writes the rest.
 *
 * Return: nanoseconds, or U64_MAX if the method was stopped.
 */
static u64 zone_device_time(struct zone_device_run *run,
			    const struct zone_device_method *method, u64 best,
			    unsigned long pfn, unsigned long nr)
{
	unsigned long piece = max_t(unsigned long, nr / ZONE_DEVICE_PIECES,
				    pgmap_vmemmap_nr(run->pgmap));
	const struct zone_device_method *fallback = run->method;
	unsigned long end_pfn = pfn + nr;
	u64 start, time = 0;

	cond_resched();
	run->method = method;
	start = ktime_get_ns();
	while (pfn < end_pfn && time / 2 <= best) {
		zone_device_fill(run, pfn, pfn + piece);
		pfn += piece;
		if (method->streaming)
			memcpy_streaming_drain();
		time = ktime_get_ns() - start;
	}
	run->method = fallback;
	zone_device_fill(run, pfn, end_pfn);

	return pfn < end_pfn ? U64_MAX : time;
}

/* Print the result of a trial in one line, to explain the choice. */
static void zone_device_tell(const struct zone_device_method *const *tried,
			     const u64 *best, unsigned int nr, unsigned long unit,
			     const struct zone_device_method *winner, bool altmap)
{
	char figures[160];
	unsigned int i, at = 0;

	figures[0] = '\0';
	for (i = 0; i < nr; i++) {
		if (best[i] == U64_MAX)
			at += scnprintf(figures + at, sizeof(figures) - at,
					" %s stopped", tried[i]->name);
		else
			at += scnprintf(figures + at, sizeof(figures) - at,
					" %s %llu ns", tried[i]->name, best[i]);
	}
	pr_debug("zone_device: chose %s for a memmap in %s, best of %u times on %lu PFNs:%s\n",
		 winner->name, altmap ? "altmap" : "RAM", ZONE_DEVICE_ROUNDS,
		 unit, figures);
}

/*
 * Write the first sections of a large range with each method in turn, so that
 * each is timed on the memory for which it may be chosen, in the same state of
 * the cache. The plain copy is first, because its time then bounds the others.
 *
 * Return: the first PFN that is left for the method that is now in @run.
 */
static unsigned long zone_device_try(struct zone_device_run *run,
				     unsigned long pfn, unsigned long end_pfn)
{
	unsigned long unit = max_t(unsigned long, PAGES_PER_SECTION,
				   pgmap_vmemmap_nr(run->pgmap));
	const struct zone_device_method *method, *tried[ZONE_DEVICE_MAX_METHODS];
	unsigned int i, round, nr = 0, winner = 0;
	u64 best[ZONE_DEVICE_MAX_METHODS], fastest = U64_MAX;
	bool altmap = run->pgmap->flags & PGMAP_ALTMAP_VALID;

	for (i = 0; (method = zone_device_method_at(i)); i++) {
		if (zone_device_can(method) && nr < ZONE_DEVICE_MAX_METHODS) {
			best[nr] = U64_MAX;
			tried[nr++] = method;
		}
	}

	if (nr < 2 || !IS_ALIGNED(pfn, pgmap_vmemmap_nr(run->pgmap)) ||
	    (end_pfn - pfn) / unit < nr * ZONE_DEVICE_TRIAL_SHARE)
		return pfn;

	run->method = &zone_device_copy;
	zone_device_fill(run, pfn, ALIGN(pfn, unit));
	pfn = ALIGN(pfn, unit);

	for (round = 0; round < ZONE_DEVICE_ROUNDS; round++) {
		/* The copy is the last in the list. */
		for (i = nr; i--; ) {
			if (round && best[i] == U64_MAX)
				continue;
			best[i] = min(best[i], zone_device_time(run, tried[i], fastest,
								pfn, unit));
			fastest = min(fastest, best[i]);
			pfn += unit;
		}
	}

	for (i = 1; i < nr; i++) {
		if (best[i] < best[winner] - best[winner] / ZONE_DEVICE_MARGIN)
			winner = i;
	}

	run->method = tried[winner];
	WRITE_ONCE(zone_device_winner[altmap], tried[winner]);
	zone_device_tell(tried, best, nr, unit, tried[winner], altmap);
	return pfn;
}

/**
 * zone_device_choose - choose the method of a run
 * @run: the run, with its templates; its method is set here
 * @pfn: first PFN of the range
 * @end_pfn: PFN after the range
 *
 * Context: process context, may sleep.
 * Return: the first PFN that is not written yet.
 */
unsigned long zone_device_choose(struct zone_device_run *run, unsigned long pfn,
				 unsigned long end_pfn)
{
	const struct zone_device_method *method = READ_ONCE(zone_device_chosen);
	unsigned int per_compound = pgmap_vmemmap_nr(run->pgmap);
	struct vmem_altmap *altmap = pgmap_altmap(run->pgmap);
	unsigned long nr = end_pfn - pfn;

	run->method = &zone_device_copy;

	if (ZONE_DEVICE_DESCRIPTORS_DIFFER)
		return pfn;

	if (method != &zone_device_auto) {
		if (method->usable && zone_device_can(method))
			run->method = method;
		return pfn;
	}

	if (per_compound > 1)
		nr = DIV_ROUND_UP(nr, per_compound) *
		     zone_device_compound_nr(pfn, altmap, run->pgmap);
	if (nr * sizeof(struct page) <= (method_llc_bytes() ?: ZONE_DEVICE_DEFAULT_LLC))
		return pfn;

	method = zone_device_remembered(altmap);
	run->method = method && zone_device_can(method) ? method : zone_device_default();

	return zone_device_try(run, pfn, end_pfn);
}
