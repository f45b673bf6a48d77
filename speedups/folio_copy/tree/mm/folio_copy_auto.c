// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming takes from half to four times the time of a plain copy. That depends on the
 * CPU, and even more on whether the destination is in the cache, which no function reports.
 * So some pages are copied plainly and some are streamed, and the rest is copied in the
 * faster way. An interrupt at this time may mislead this folio, and no other.
 */

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "folio_copy_method.h"
#include "internal.h"

/* Fewer pages are copied plainly, because a trial would be too much of them. */
#define FOLIO_COPY_LEAST	256

/*
 * Pages of a trial that are timed while they are copied plainly. As many are copied
 * before, because the first ones take longer, however they are copied.
 */
#define FOLIO_COPY_PLAIN	8

/*
 * Streaming can be slow at first, on an Intel CPU for 64 pages, and the more so the
 * fewer pages are streamed. If the destination is cached, it stays slow. So a trial
 * continues with more pages while streaming is not much slower than a plain copy. If
 * words are streamed, and it is a little faster, more pages show nothing new, and
 * their first reader waits for memory.
 */
static const struct {
	unsigned int npages;
	unsigned int most;		/* quarters of the time of a plain copy to continue */
} folio_copy_trials[] = {
	{ 2, 8 }, { 8, 5 }, { 56, 5 }, { 32, 5 },
};

#ifndef copy_pages_streams_lines
#define copy_pages_streams_lines()	false
#endif

/* Nothing of a folio of this many pages stays in the cache until its copy is read. */
#define FOLIO_COPY_LONG		(SZ_256M >> PAGE_SHIFT)

/**
 * folio_copy_streams - choose how to copy the rest of a folio
 * @nr: number of its pages
 * @plain: time that a plain copy of some of them took
 * @stream: time that it took to stream as many
 *
 * The cache defers the cost of plain stores, and the first reader of a streamed copy
 * gets it from memory. That costs up to a third of the time of a plain copy, but less than a
 * fifth on CPUs that stream whole lines. So if the copy could stay in the cache,
 * streaming must save as much.
 *
 * Return: whether to stream it.
 */
bool folio_copy_streams(unsigned long nr, u64 plain, u64 stream)
{
	if (nr >= FOLIO_COPY_LONG)
		return stream < plain;

	return copy_pages_streams_lines() ? 5 * stream < 4 * plain : 3 * stream < 2 * plain;
}

unsigned long folio_copy_auto(void *to, const void *from, unsigned long npages)
{
	unsigned long done = 2 * FOLIO_COPY_PLAIN, n, failed, at;
	folio_copy_fn *rest = folio_copy_bulk;
	u64 start, plain, took;
	unsigned int i;

	if (npages < FOLIO_COPY_LEAST)
		return folio_copy_bulk(to, from, npages);

	if (folio_copy_bulk(to, from, FOLIO_COPY_PLAIN))
		return 1;

	at = FOLIO_COPY_PLAIN << PAGE_SHIFT;
	start = local_clock();
	failed = folio_copy_bulk(to + at, from + at, FOLIO_COPY_PLAIN);
	plain = (local_clock() - start) / FOLIO_COPY_PLAIN;

	for (i = 0; !failed && rest == folio_copy_bulk && i < ARRAY_SIZE(folio_copy_trials); i++) {
		at = done << PAGE_SHIFT;
		n = folio_copy_trials[i].npages;
		start = local_clock();
		failed = folio_copy_stream(to + at, from + at, n);
		took = local_clock() - start;
		done += n;
		if (folio_copy_streams(npages, plain * n, took))
			rest = folio_copy_stream;
		else if (took > folio_copy_trials[i].most * (plain * n / 4) ||
			 (took < plain * n && !copy_pages_streams_lines()))
			break;
	}

	at = done << PAGE_SHIFT;
	return failed ? failed : rest(to + at, from + at, npages - done);
}
