/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_COPY_PAGES_H
#define _LINUX_COPY_PAGES_H

/*
 * Copy contiguous pages of the direct map.
 *
 * copy_pages(to, from, npages) is copy_page() for a range. It uses the instructions
 * that are fastest on this CPU for large copies.
 *
 * copy_mc_pages(to, from, npages) survives a machine check in the source, if the
 * architecture can. It returns the number of bytes that were not copied, or 0 for
 * success. The number may be larger than necessary: the first byte that counts as
 * not copied may be before the poison, but it is never after it.
 *
 * copy_mc_pages_streaming(to, from, npages) does the same for data that is not read
 * soon. Call memcpy_streaming_drain() before you publish the copy.
 *
 * - Both addresses are page aligned, and the ranges do not overlap.
 * - @npages is at least 1 and at most COPY_PAGES_MOST.
 * - Context: any. These functions do not sleep, reschedule or use FPU state.
 * - The shadow of KMSAN is not copied, and KASAN does not check the accesses, as
 *   with copy_page().
 */
#include <linux/sizes.h>
#include <asm/copy_pages.h>

/*
 * Some architectures count the bytes of a copy in 32 bits, in C or in a register. So
 * one call copies at most 1 GiB.
 */
#define COPY_PAGES_MOST		(SZ_1G >> PAGE_SHIFT)

#endif /* _LINUX_COPY_PAGES_H */
