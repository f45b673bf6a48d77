/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_COPY_PAGES_H
#define _LINUX_COPY_PAGES_H

/*
 * Copies of many contiguous pages of the direct map.
 *
 * copy_pages(to, from, npages) is copy_page() for a range, by whatever this CPU
 * is best at for transfers that are known to be large.
 *
 * copy_mc_pages(to, from, npages) survives a machine check in the source where
 * the architecture can.  It returns the number of bytes that were not copied, 0
 * for success.  That number may be larger than it had to be, so that the first
 * byte which is not copied can lie before the poison, but never behind it.
 *
 * copy_mc_pages_streaming(to, from, npages) is the same for data that nobody
 * reads soon.  It takes memcpy_streaming_drain() before others may see it.
 *
 * - Both addresses are page aligned, and the ranges do not overlap.
 * - At least one page, at most COPY_PAGES_MOST.
 * - Context: any.  Nothing here sleeps, reschedules or uses FPU state.
 * - KMSAN's shadow is not copied.  KASAN does not look, as for copy_page().
 */
#include <linux/sizes.h>
#include <asm/copy_pages.h>

/*
 * Some architectures count the bytes of a transfer in 32 bits, in C or in a
 * register.
 */
#define COPY_PAGES_MOST		(SZ_1G >> PAGE_SHIFT)

#endif /* _LINUX_COPY_PAGES_H */
