// SPDX-License-Identifier: GPL-2.0-only
// Precedes memcpy() in copy_mc_to_kernel() in arch/x86/lib/copy_mc.c.

	/* memcpy() is made for small sizes: without FSRM it is a loop, and no MC is survived. */
	if (cpu_feature_enabled(X86_FEATURE_REP_GOOD) && IS_ALIGNED(len, PAGE_SIZE)) {
		unsigned long words = len >> 3;
		const void *from = src;
		void *to = dst;

		instrument_memcpy_before(dst, src, len);
		asm volatile("1: rep movsq\n"
			     "2:\n"
			     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT_MCE_SAFE)
			     : "+c" (words), "+D" (to), "+S" (from) : : "memory");
		instrument_memcpy_after(dst, src, len, words << 3);
		return words << 3;
	}
