/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_COPY_PAGES_H
#define _ASM_X86_COPY_PAGES_H

#if defined(CONFIG_X86_64) && !defined(CONFIG_UML)

#include <linux/types.h>
#include <linux/uaccess.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/page_types.h>

/* What the routines in copy_pages_64.S clobber besides their arguments. */
#define COPY_PAGES_CLOBBERS	"cc", "memory", "rax", "rdx", "r8", "r9"

/*
 * memcpy() is optimised for small sizes, and no longer uses ERMS or REP_GOOD. For
 * many pages, both are the right choice:
 *
 * - ERMS: rep movsb, which is at least as fast as any other instruction;
 * - REP_GOOD: rep movsq, if the CPU or its hypervisor hides ERMS;
 * - neither: a loop of 8-byte moves.
 */
static __always_inline void copy_pages(void *to, const void *from,
				       unsigned long npages)
{
	unsigned long len = npages << PAGE_SHIFT;

	asm volatile(ALTERNATIVE_2("call __copy_pages_unrolled",
				   "shrq $3, %%rcx; rep movsq", X86_FEATURE_REP_GOOD,
				   "rep movsb", X86_FEATURE_ERMS)
		     : "+c" (len), "+D" (to), "+S" (from), ASM_CALL_CONSTRAINT
		     : : COPY_PAGES_CLOBBERS);
}

#ifdef CONFIG_ARCH_HAS_COPY_MC
bool copy_mc_is_fragile(void);

/*
 * As copy_pages(), with an exception table entry for every load. Platforms on which
 * a string instruction does not survive poison use copy_mc_fragile() as before.
 */
static __always_inline unsigned long copy_mc_pages(void *to, const void *from,
						   unsigned long npages)
{
	unsigned long len = npages << PAGE_SHIFT;

	if (copy_mc_is_fragile())
		return copy_mc_to_kernel(to, from, len);

	asm volatile(ALTERNATIVE_2("call __copy_mc_pages_unrolled",
				   "call __copy_mc_pages_movsq", X86_FEATURE_REP_GOOD,
				   "call __copy_mc_pages_movsb", X86_FEATURE_ERMS)
		     : "+c" (len), "+D" (to), "+S" (from), ASM_CALL_CONSTRAINT
		     : : COPY_PAGES_CLOBBERS);

	return len;
}

static __always_inline unsigned long
copy_mc_pages_streaming(void *to, const void *from, unsigned long npages)
{
	unsigned long len = npages << PAGE_SHIFT;

	if (copy_mc_is_fragile())
		return copy_mc_to_kernel(to, from, len);

	asm volatile("call __copy_mc_pages_movnti"
		     : "+c" (len), "+D" (to), "+S" (from), ASM_CALL_CONSTRAINT
		     : : COPY_PAGES_CLOBBERS);

	return len;
}

#define copy_mc_pages			copy_mc_pages
#define copy_mc_pages_streaming		copy_mc_pages_streaming
#endif /* CONFIG_ARCH_HAS_COPY_MC */

#define copy_pages	copy_pages

#endif /* CONFIG_X86_64 && !CONFIG_UML */

#include <asm-generic/copy_pages.h>

#endif /* _ASM_X86_COPY_PAGES_H */
