// SPDX-License-Identifier: GPL-2.0-only
/*
 * Streaming is faster than a plain copy if neither folio is in the cache. If the destination
 * is, streaming is slower. If the source is, somebody uses it, and will soon read the copy,
 * which would then come from memory. No function tells what is in the cache, but the time
 * that a few reads take does.
 */

#include <linux/mm.h>
#include <linux/sched/clock.h>
#include <linux/uaccess.h>
#include <asm/barrier.h>

#include "folio_copy_method.h"
#include "internal.h"

/* Of fewer pages, the reads would take too much of the time. */
#define FOLIO_COPY_LEAST	128

/* One read from memory takes longer, and this many reads from the cache take less. */
#define FOLIO_COPY_READS	4
#define FOLIO_COPY_READ_NS	100

#ifdef copy_mc_pages_streaming
/* The distance of the reads is no power of two, or they would often meet in one set. */
static bool folio_copy_is_cached(const void *from, unsigned long size)
{
	const unsigned long step = size / FOLIO_COPY_READS + L1_CACHE_BYTES;
	u64 start = local_clock();
	unsigned int i;

	for (i = 0; i < FOLIO_COPY_READS; i++)
		copy_mc_touch(from + i * step);
	/* Wait for them. */
	rmb();

	return local_clock() - start < FOLIO_COPY_READ_NS;
}
#else
static bool folio_copy_is_cached(const void *from, unsigned long size)
{
	return true;
}
#endif

unsigned long folio_copy_auto(void *to, const void *from, unsigned long npages)
{
	unsigned long size = npages << PAGE_SHIFT;

	if (npages < FOLIO_COPY_LEAST || folio_copy_is_cached(to, size) ||
	    folio_copy_is_cached(from, size))
		return folio_copy_bulk(to, from, npages);

	return folio_copy_stream(to, from, npages);
}
