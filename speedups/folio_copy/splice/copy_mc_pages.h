// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_mc_to_kernel() in arch/x86/include/asm/uaccess.h.

unsigned long __must_check
copy_mc_pages(void *to, const void *from, unsigned long npages);
