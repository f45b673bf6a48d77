/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_STREAMING_COPY_H
#define _ASM_X86_STREAMING_COPY_H

#ifdef CONFIG_X86_64

#include <linux/align.h>
#include <linux/kconfig.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/barrier.h>

/*
 * memcpy_flushcache() copies the ends of an unaligned transfer through the cache
 * and writes these lines back. Only persistent memory needs that, so such copies
 * are left to memcpy().
 *
 * Sanitizers do not see stores by inline assembly, so their builds always use
 * memcpy().
 */
static __always_inline bool memcpy_streams(const void *dst, size_t n)
{
	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN))
		return false;

	if (__builtin_constant_p(n) && (n == 4 || n == 8 || n == 16))
		return true;

	return n && IS_ALIGNED((unsigned long)dst, 8) && IS_ALIGNED(n, 4);
}

static __always_inline void memcpy_streaming(void *dst, const void *src, size_t n)
{
	if (memcpy_streams(dst, n))
		memcpy_flushcache(dst, src, n);
	else
		memcpy(dst, src, n);
}

static __always_inline void memcpy_streaming_drain(void)
{
	/* Order non-temporal stores before a plain store that publishes them. */
	wmb();
}

#define memcpy_streaming	memcpy_streaming

#endif /* CONFIG_X86_64 */

#include <asm-generic/streaming_copy.h>

#endif /* _ASM_X86_STREAMING_COPY_H */
