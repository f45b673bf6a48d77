// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming takes from half to three times the time of a plain copy. That depends on the
 * CPU, and even more on whether the destination is in the cache, which no function tells.
 * So one part of FOLIO_COPY_PARTS is copied plainly, a quarter of that is streamed, and
 * the rest is copied in the faster way. An interrupt in one of these parts may mislead
 * this folio, and no other.
 */

#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/sizes.h>

#include "folio_copy_method.h"

#define FOLIO_COPY_PARTS	64
#define FOLIO_COPY_QUARTER	4

/* A part of fewer pages is too short to tell, so the folio is copied plainly. */
#define FOLIO_COPY_TIMED	8

/* Nothing of a folio of this many pages stays in the cache until its copy is read. */
#define FOLIO_COPY_LONG		(SZ_256M >> PAGE_SHIFT)

/**
 * folio_copy_streams - choose how to copy the rest of a folio
 * @nr: number of its pages
 * @plain: time that a plain copy of some of them took
 * @stream: time that it took to stream as many
 *
 * The cache defers the cost of plain stores, and whoever reads a streamed copy gets it
 * from memory. So if the copy could stay in the cache, streaming must take less than
 * three quarters of the time.
 *
 * Return: whether to stream it.
 */
bool folio_copy_streams(unsigned long nr, u64 plain, u64 stream)
{
	if (nr < FOLIO_COPY_LONG)
		plain -= plain / 4;

	return stream < plain;
}

static unsigned long folio_copy_try(folio_copy_fn *bulk, folio_copy_fn *stream,
				    void *to, const void *from, unsigned long npages)
{
	unsigned long part = npages / FOLIO_COPY_PARTS, quarter = part / FOLIO_COPY_QUARTER;
	unsigned long done = part << PAGE_SHIFT, rest = npages - part - quarter, left;
	u64 start, plain, streamed;

	if (part < FOLIO_COPY_TIMED)
		return bulk(to, from, npages);

	start = local_clock();
	left = bulk(to, from, part);
	plain = local_clock() - start;
	if (left)
		return left + ((npages - part) << PAGE_SHIFT);

	start = local_clock();
	left = stream(to + done, from + done, quarter);
	streamed = (local_clock() - start) * FOLIO_COPY_QUARTER;
	if (left)
		return left + (rest << PAGE_SHIFT);

	done += quarter << PAGE_SHIFT;
	if (!folio_copy_streams(npages, plain, streamed))
		stream = bulk;

	return stream(to + done, from + done, rest);
}

unsigned long folio_copy_auto(void *to, const void *from, unsigned long npages)
{
	return folio_copy_try(folio_copy_bulk, folio_copy_stream, to, from, npages);
}

unsigned long folio_copy_mc_auto(void *to, const void *from, unsigned long npages)
{
	return folio_copy_try(folio_copy_mc_bulk, folio_copy_mc_stream, to, from, npages);
}
