// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_mc_pages_streaming() in arch/x86/include/asm/uaccess.h.

/* Read a byte, or nothing if it is poisoned. */
static __always_inline void copy_mc_touch(const void *from)
{
	u8 byte;

	asm volatile("1: movb (%1), %0\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT_MCE_SAFE)
		     : "=a" (byte) : "S" (from));
}
