/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_STREAMING_COPY_H
#define _LINUX_STREAMING_COPY_H

/*
 * Copies for data that is written once and not read again soon.
 *
 * memcpy_streaming(dst, src, n) copies the same bytes as memcpy(dst, src, n). An
 * architecture may bypass the caches to do so. Then a long sequence of copies
 * neither fetches the lines that it overwrites nor evicts lines that other code
 * needs.
 *
 * - Bytes: identical to memcpy() for every size and alignment. The ranges must not
 *   overlap.
 * - This CPU: later loads and stores in program order see the copy, with or
 *   without a drain.
 * - Other CPUs: before memcpy_streaming_drain(), the stores may become visible
 *   late and out of order, whatever barrier follows them. After it, they are
 *   ordered like plain stores, so publishing the copy still takes smp_wmb() or a
 *   release. On x86 a locked instruction or a context switch is a drain as well.
 * - Speed: if a plain store to the same cache line follows, drain before it, so
 *   that the streamed line is written to memory in one piece.
 * - Context: any. Neither function sleeps or uses FPU state.
 * - Constant sizes are much faster: x86-64 has straight-line code for the usual
 *   sizes of struct page.
 *
 * On other architectures memcpy_streaming() is memcpy(), and the drain does
 * nothing. They do not use memcpy_flushcache(), because it cleans the cache after
 * the copy on arm64 and powerpc, which is slower.
 */
#include <linux/string.h>
#include <asm/streaming_copy.h>

#endif /* _LINUX_STREAMING_COPY_H */
