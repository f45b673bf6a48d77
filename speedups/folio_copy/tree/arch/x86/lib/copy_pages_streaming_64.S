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

.macro STREAM_WORD offset:req, reg:req
.Lload\@:
	movq	\offset(%rsi), \reg
	_ASM_EXTABLE_TYPE(.Lload\@, .Lstopped, EX_TYPE_DEFAULT_MCE_SAFE)
	movnti	\reg, \offset(%rdi)
.endm

/* unsigned long __copy_mc_pages_streaming(void *to, const void *from, unsigned long len) */
SYM_FUNC_START(__copy_mc_pages_streaming)
	movq	%rdx, %rcx
	ALTERNATIVE "jmp .Lhalf_line", "", X86_FEATURE_MOVDIR64B
	.p2align 4
	/*
	 * movdir64b (%rsi), %rdi, which old assemblers do not know. It loads and stores, so
	 * a fault of either has the entry, as in rep movsb.
	 */
.Lline:
	.byte	0x66, 0x0f, 0x38, 0xf8, 0x3e
	_ASM_EXTABLE_TYPE(.Lline, .Lstopped, EX_TYPE_DEFAULT_MCE_SAFE)
	addq	$64, %rsi
	addq	$64, %rdi
	subq	$64, %rcx
	jnz	.Lline
	jmp	.Lstopped

	.p2align 4
.Lhalf_line:
	STREAM_WORD 0x00, %rax
	STREAM_WORD 0x08, %rdx
	STREAM_WORD 0x10, %r8
	STREAM_WORD 0x18, %r9
	addq	$32, %rsi
	addq	$32, %rdi
	subq	$32, %rcx
	jnz	.Lhalf_line
.Lstopped:
	sfence
	movq	%rcx, %rax
	RET
SYM_FUNC_END(__copy_mc_pages_streaming)
