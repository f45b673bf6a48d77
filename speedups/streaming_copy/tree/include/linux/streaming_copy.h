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
 *   late and out of order: smp_wmb() and smp_store_release() do not order them.
 *   After it, they are ordered like plain stores, so publishing the copy still takes
 *   one of these. On x86 a locked instruction or a context switch is a drain as well.
 * - Speed: if a plain store to the same cache line follows, drain before it, so
 *   that the streamed line is written to memory in one piece.
 * - Context: any. Neither function sleeps or uses FPU state.
 * - Constant sizes are much faster: x86-64 has straight-line code for the usual
 *   sizes of struct page.
 *
 * memcpy_streaming_ok(dst, n) says whether a copy bypasses the caches. An architecture opts in
 * by defining it in a header that <linux/string.h> includes: whether its
 * memcpy_flushcache() streams all bytes of a copy, and does no more than that. Its wmb()
 * must order such stores. On other architectures memcpy_streaming() is memcpy(), and the
 * drain does nothing. On arm64 and powerpc memcpy_flushcache() cleans the cache after the
 * copy, which is slower.
 */
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

#ifdef memcpy_streaming_ok

static __always_inline void memcpy_streaming(void *dst, const void *src, size_t n)
{
	if (memcpy_streaming_ok(dst, n))
		memcpy_flushcache(dst, src, n);
	else
		memcpy(dst, src, n);
}

static __always_inline void memcpy_streaming_drain(void)
{
	/* Order non-temporal stores before a plain store that publishes them. */
	wmb();
}

#else

/* These are macros, so that FORTIFY_SOURCE still sees the caller's objects. */
#define memcpy_streaming_ok(dst, n)	false
#define memcpy_streaming(dst, src, n)	((void)memcpy(dst, src, n))
#define memcpy_streaming_drain()	do { } while (0)

#endif /* memcpy_streaming_ok */

#endif /* _LINUX_STREAMING_COPY_H */
