/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of whole pages, with the instruction that is fastest for long copies:
 *
 * - ERMS: rep movsb;
 * - REP_GOOD: rep movsq, if the CPU or its hypervisor hides ERMS;
 * - neither: a loop of 8-byte moves.
 *
 * memcpy() is optimised for small sizes, and uses neither ERMS nor REP_GOOD.
 */

#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/page_types.h>

.macro LOAD offset:req, reg:req, stopped
.Lload\@:
	movq	\offset(%rsi), \reg
	.ifnb \stopped
	_ASM_EXTABLE_TYPE(.Lload\@, \stopped, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
.endm

.macro COPY_HALF_LINE at:req, stopped
	LOAD	\at+0x00, %rax, \stopped
	LOAD	\at+0x08, %rdx, \stopped
	LOAD	\at+0x10, %r8, \stopped
	LOAD	\at+0x18, %r9, \stopped
	movq	%rax, \at+0x00(%rdi)
	movq	%rdx, \at+0x08(%rdi)
	movq	%r8, \at+0x10(%rdi)
	movq	%r9, \at+0x18(%rdi)
.endm

/*
 * Copy %rcx bytes, a multiple of 64, and return how many are left. If a label is given,
 * a machine check that a load takes leads there: then some are left.
 *
 * Poison has the granularity of a cache line. Whichever load of a line takes the
 * machine check, the whole line counts as not copied. A prefetch takes no fault and no
 * machine check, so it may be of poison or past the end.
 */
.macro COPY_BYTES stopped
	ALTERNATIVE "jmp .Lno_erms\@", "", X86_FEATURE_ERMS
.Lmovsb\@:
	rep movsb
	.ifnb \stopped
\stopped:
	_ASM_EXTABLE_TYPE(.Lmovsb\@, \stopped, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
	movq	%rcx, %rax
	RET

.Lno_erms\@:
	ALTERNATIVE "jmp .Lline\@", "", X86_FEATURE_REP_GOOD
	shrq	$3, %rcx
.Lmovsq\@:
	rep movsq
.Lwords_left\@:
	.ifnb \stopped
	_ASM_EXTABLE_TYPE(.Lmovsq\@, .Lwords_left\@, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
	leaq	(,%rcx,8), %rax
	RET

	.p2align 4
.Lline\@:
	prefetcht0 5*64(%rsi)
	COPY_HALF_LINE 0x00, \stopped
	COPY_HALF_LINE 0x20, \stopped
	addq	$64, %rsi
	addq	$64, %rdi
	subq	$64, %rcx
	jnz	.Lline\@
	xorl	%eax, %eax
	RET
.endm

/* void copy_pages(void *to, const void *from, unsigned long npages) */
SYM_FUNC_START(copy_pages)
	movq	%rdx, %rcx
	shlq	$PAGE_SHIFT, %rcx
	COPY_BYTES
SYM_FUNC_END(copy_pages)

/* unsigned long __copy_mc_pages(void *to, const void *from, unsigned long len) */
SYM_FUNC_START(__copy_mc_pages)
	movq	%rdx, %rcx
	COPY_BYTES .Lstopped
SYM_FUNC_END(__copy_mc_pages)
