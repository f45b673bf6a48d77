// SPDX-License-Identifier: GPL-2.0-only
// Follows movnti_fixed() in arch/x86/include/asm/movnti.h.

/*
 * Whether memcpy_flushcache() streams all bytes of a copy. It copies the ends of an
 * unaligned transfer through the cache and writes these lines back, which only
 * persistent memory needs.
 *
 * Sanitizers do not see stores by inline assembly, so nothing is streamed for them. UML
 * has a plain memcpy_flushcache().
 */
static __always_inline bool memcpy_streaming_ok(const void *dst, size_t n)
{
	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN) || IS_ENABLED(CONFIG_UML))
		return false;

	if (__builtin_constant_p(n) && (n == 4 || n == 8 || n == 16))
		return true;

	return n && IS_ALIGNED((unsigned long)dst, 8) && IS_ALIGNED(n, 4);
}

#define memcpy_streaming_ok	memcpy_streaming_ok
