/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copy loops for copy_pages() and copy_mc_pages(), called through alternatives. They
 * do not follow the C calling convention:
 *
 *  %rdi	destination
 *  %rsi	source
 *  %rcx	number of bytes, a multiple of 64; on return, the bytes that are left
 *
 * %rdi and %rsi are advanced; %rax, %rdx, %r8 and %r9 are clobbered.
 */

#include <linux/linkage.h>
#include <asm/asm.h>

.macro LOAD offset:req, reg:req, stopped
.Lload\@:
	movq	\offset(%rsi), \reg
	.ifnb \stopped
	_ASM_EXTABLE_TYPE(.Lload\@, \stopped, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
.endm

.macro COPY_HALF_LINE at:req, store:req, stopped
	LOAD	\at+0x00, %rax, \stopped
	LOAD	\at+0x08, %rdx, \stopped
	LOAD	\at+0x10, %r8, \stopped
	LOAD	\at+0x18, %r9, \stopped
	\store	%rax, \at+0x00(%rdi)
	\store	%rdx, \at+0x08(%rdi)
	\store	%r8, \at+0x10(%rdi)
	\store	%r9, \at+0x18(%rdi)
.endm

/*
 * Poison has the granularity of a cache line. Whichever load of a line takes the
 * machine check, the whole line counts as not copied.
 *
 * A prefetch takes no fault and no machine check, so it may be of poison or past the
 * end. Streamed copies have none, because it slows them down.
 */
.macro COPY_LINES store:req, stopped
	.p2align 4
.Lline\@:
	.ifc	\store, movq
	prefetcht0 5*64(%rsi)
	.endif
	COPY_HALF_LINE 0x00, \store, \stopped
	COPY_HALF_LINE 0x20, \store, \stopped
	addq	$64, %rsi
	addq	$64, %rdi
	subq	$64, %rcx
	jnz	.Lline\@
.endm

SYM_FUNC_START(__copy_pages_unrolled)
	COPY_LINES movq
	RET
SYM_FUNC_END(__copy_pages_unrolled)

SYM_FUNC_START(__copy_mc_pages_unrolled)
	COPY_LINES movq, .Lunrolled_stopped
.Lunrolled_stopped:
	RET
SYM_FUNC_END(__copy_mc_pages_unrolled)

SYM_FUNC_START(__copy_mc_pages_movnti)
	COPY_LINES movnti, .Lmovnti_stopped
.Lmovnti_stopped:
	RET
SYM_FUNC_END(__copy_mc_pages_movnti)

SYM_FUNC_START(__copy_mc_pages_movsq)
	shrq	$3, %rcx
.Lmovsq:
	rep movsq
.Lmovsq_stopped:
	shlq	$3, %rcx
	RET
	_ASM_EXTABLE_TYPE(.Lmovsq, .Lmovsq_stopped, EX_TYPE_DEFAULT_MCE_SAFE)
SYM_FUNC_END(__copy_mc_pages_movsq)

SYM_FUNC_START(__copy_mc_pages_movsb)
.Lmovsb:
	rep movsb
.Lmovsb_stopped:
	RET
	_ASM_EXTABLE_TYPE(.Lmovsb, .Lmovsb_stopped, EX_TYPE_DEFAULT_MCE_SAFE)
SYM_FUNC_END(__copy_mc_pages_movsb)
