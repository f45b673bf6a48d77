// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_mc_to_kernel() in arch/x86/include/asm/uaccess.h.

unsigned long __must_check
__copy_mc_pages_streaming(void *to, const void *from, unsigned long len);

unsigned long __must_check
copy_mc_pages_streaming(void *to, const void *from, unsigned long npages);
#define copy_mc_pages_streaming copy_mc_pages_streaming
