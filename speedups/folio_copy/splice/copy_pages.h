// SPDX-License-Identifier: GPL-2.0-only
// Precedes copy_page() in arch/x86/include/asm/page_64.h.

/* copy_page() for a range, with the instruction that is fastest for long copies. */
void copy_pages(void *to, const void *from, unsigned long npages);
#define copy_pages copy_pages
