// SPDX-License-Identifier: GPL-2.0-only
// Precedes copy_page() in arch/x86/include/asm/page_64.h.

/* copy_page() for a range. memcpy() is made for small sizes: without FSRM it is a loop. */
static inline void copy_pages(void *to, const void *from, unsigned long npages)
{
	unsigned long left = npages << PAGE_SHIFT;

	asm volatile(ALTERNATIVE("shr $3, %0; rep movsq", "rep movsb", X86_FEATURE_ERMS)
		     : "+c" (left), "+D" (to), "+S" (from) : : "memory");
}

/* Without REP_GOOD, string instructions may take longer than the loop of copy_page(). */
#define can_copy_pages()	cpu_feature_enabled(X86_FEATURE_REP_GOOD)
