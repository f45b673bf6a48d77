/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_MOVNTI_H
#define _ASM_X86_MOVNTI_H

#include <linux/align.h>
#include <linux/types.h>

/* volatile keeps the stores in ascending order, which fills each cache line soonest. */
static __always_inline void movnti_8(void *dst, const void *src)
{
	asm volatile("movntiq %1, %0"
		     : "=m" (*(u64 *)dst)
		     : "r" (*(const u64 *)src));
}

static __always_inline void movnti_16(void *dst, const void *src)
{
	movnti_8(dst, src);
	movnti_8(dst + 8, src + 8);
}

static __always_inline void movnti_32(void *dst, const void *src)
{
	movnti_16(dst, src);
	movnti_16(dst + 16, src + 16);
}

/**
 * movnti_fixed - copy a few words with straight-line non-temporal stores
 * @dst: destination
 * @src: source
 * @n: size in bytes, known at compile time
 *
 * At the size of a struct page, a loop of 8-byte stores can be slower than memcpy(),
 * and a function call can cost more than the non-temporal stores save.
 *
 * Return: true if the copy is done; false, with nothing written, if there is no code
 * for @n here or @dst is not aligned to 8 bytes.
 */
static __always_inline bool movnti_fixed(void *dst, const void *src, size_t n)
{
	if (n % 16 || n < 32 || n > 96 || !IS_ALIGNED((unsigned long)dst, 8))
		return false;

	movnti_32(dst, src);
	if (n >= 64)
		movnti_32(dst + 32, src + 32);
	if (n >= 96)
		movnti_32(dst + 64, src + 64);
	if (n % 32)
		movnti_16(dst + n - 16, src + n - 16);

	return true;
}

#endif /* _ASM_X86_MOVNTI_H */
