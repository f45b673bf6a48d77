/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Copies of whole pages past the cache, line by line if the CPU can, or else word by
 * word. On return the stores are ordered like plain ones.
 */

#include <linux/linkage.h>
#include <asm/alternative.h>
#include <asm/asm.h>
#include <asm/cpufeatures.h>
#include <asm/page_types.h>

.macro STREAM_WORD offset:req, reg:req, stopped
.Lload\@:
	movq	\offset(%rsi), \reg
	.ifnb \stopped
	_ASM_EXTABLE_TYPE(.Lload\@, \stopped, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
	movnti	\reg, \offset(%rdi)
.endm

/*
 * movdir64b (%rsi), %rdi, which old assemblers do not know. It loads and stores, so a
 * fault of either has the entry, as in rep movsb.
 */
.macro STREAM_LINE stopped
.Lload\@:
	.byte	0x66, 0x0f, 0x38, 0xf8, 0x3e
	.ifnb \stopped
	_ASM_EXTABLE_TYPE(.Lload\@, \stopped, EX_TYPE_DEFAULT_MCE_SAFE)
	.endif
.endm

/* Copy %rcx bytes, a multiple of 64, and return how many are left. */
.macro STREAM_BYTES stopped
	ALTERNATIVE "jmp .Lhalf_line\@", "", X86_FEATURE_MOVDIR64B
	.p2align 4
.Lline\@:
	STREAM_LINE \stopped
	addq	$64, %rsi
	addq	$64, %rdi
	subq	$64, %rcx
	jnz	.Lline\@
	jmp	.Ldrain\@

	.p2align 4
.Lhalf_line\@:
	STREAM_WORD 0x00, %rax, \stopped
	STREAM_WORD 0x08, %rdx, \stopped
	STREAM_WORD 0x10, %r8, \stopped
	STREAM_WORD 0x18, %r9, \stopped
	addq	$32, %rsi
	addq	$32, %rdi
	subq	$32, %rcx
	jnz	.Lhalf_line\@
.Ldrain\@:
	.ifnb \stopped
\stopped:
	.endif
	sfence
	movq	%rcx, %rax
	RET
.endm

/* void copy_pages_streaming(void *to, const void *from, unsigned long npages) */
SYM_FUNC_START(copy_pages_streaming)
	movq	%rdx, %rcx
	shlq	$PAGE_SHIFT, %rcx
	STREAM_BYTES
SYM_FUNC_END(copy_pages_streaming)

/* unsigned long __copy_mc_pages_streaming(void *to, const void *from, unsigned long len) */
SYM_FUNC_START(__copy_mc_pages_streaming)
	movq	%rdx, %rcx
	STREAM_BYTES .Lstopped
SYM_FUNC_END(__copy_mc_pages_streaming)
