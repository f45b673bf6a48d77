/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_MOVNTI_H
#define _ASM_X86_MOVNTI_H

#include <linux/align.h>
#include <linux/types.h>
#include <linux/unroll.h>

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
	size_t i;

	if (n % 16 || n < 32 || n > 96 || !IS_ALIGNED((unsigned long)dst, 8))
		return false;

	/* volatile keeps the stores in ascending order, which fills each cache line soonest. */
	unrolled_count(12)
	for (i = 0; i < n / 8; i++)
		asm volatile("movntiq %1, %0"
			     : "=m" (((u64 *)dst)[i])
			     : "r" (((const u64 *)src)[i]));

	return true;
}

#endif /* _ASM_X86_MOVNTI_H */
