/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_STREAMING_COPY_H
#define _LINUX_STREAMING_COPY_H

/*
 * Copies for data that is written once and not read again soon.
 *
 * memcpy_streaming(dst, src, n) leaves the same bytes behind as
 * memcpy(dst, src, n).  What an architecture may change is the way there: it
 * may keep the destination out of the caches, so that a long run of writes
 * neither fetches what it is about to overwrite nor evicts what others need.
 *
 * - Bytes: identical to memcpy() for every size and alignment.  The ranges
 *   must not overlap.
 * - This CPU: loads and stores that follow in program order see the copy, with
 *   or without a drain.
 * - Other CPUs: until memcpy_streaming_drain() the stores may become visible
 *   late and out of order, whatever barrier stands behind them.  After it they
 *   are ordered like plain stores, so that publishing the copy still takes
 *   smp_wmb() or a release.  On x86 a locked instruction or a context switch
 *   between the two is a drain as well.
 * - Drain early enough: where a plain store follows to a line that was just
 *   streamed, draining first lets that line leave in one piece.  This is about
 *   speed, not about the result.
 * - Context: any.  Neither call sleeps or uses FPU state.
 * - A size that is a compile-time constant is worth a lot: x86-64 has
 *   straight-line code for the usual sizes of struct page.
 *
 * Architectures without a gain get memcpy() and nothing.  This is on purpose
 * not memcpy_flushcache(), which cleans the cache after the copy on arm64 and
 * powerpc and is the slower choice there.
 */
#include <linux/string.h>
#include <asm/streaming_copy.h>

#endif /* _LINUX_STREAMING_COPY_H */
