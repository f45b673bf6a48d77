// SPDX-License-Identifier: GPL-2.0-only
/*
 * kernel_fpu_begin() and kernel_fpu_end() are the kernel's own, from
 * arch/x86/kernel/fpu/core.o and kernel/softirq.o. This file provides what they
 * work on: a task with live user registers, like a process that binds a driver
 * through sysfs. Each timed call starts with the user's registers in the CPU.
 * So its first kernel_fpu_begin() must save them, and they are loaded back before
 * the clock is read.
 */
#include <linux/sched.h>
#include <linux/thread_info.h>
#include <asm/fpu/api.h>
#include <asm/fpu/types.h>
#include <asm/fpu/xcr.h>
#include <asm/processor.h>

#include "hosted.h"
#include "wanted.h"

#ifndef x86_task_fpu
#define x86_task_fpu(task)	(&(task)->thread.fpu)
#endif

#ifdef DEFINED_kernel_fpu_allowed
DECLARE_PER_CPU(bool, kernel_fpu_allowed);
#endif

/* Declared in a header of arch/x86/kernel only. */
extern void restore_fpregs_from_fpstate(struct fpstate *fpstate, u64 mask);

void hosted_fpu_init(void)
{
	struct fpu *fpu = x86_task_fpu(current);
	u64 mask = boot_cpu_has(X86_FEATURE_OSXSAVE) ? xgetbv(0) : XFEATURE_MASK_FPSSE;

	/* Without AMX tiles: they need more space, and a task must request them. */
	mask &= ~XFEATURE_MASK_XTILE;
	/* XRSTOR must not change the protection keys of this process. */
	mask &= ~XFEATURE_MASK_PKRU;

	fpu->fpstate = &fpu->__fpstate;
	fpu->fpstate->xfeatures = mask;
	fpu->fpstate->user_xfeatures = mask;
	fpu->fpstate->size = sizeof(fpu->fpstate->regs);
	fpu->fpstate->regs.xsave.header.xcomp_bv = mask | BIT_ULL(63);
#ifdef DEFINED_kernel_fpu_allowed
	this_cpu_write(kernel_fpu_allowed, true);
#endif
}

void hosted_enter(void)
{
	clear_thread_flag(TIF_NEED_FPU_LOAD);
}

void hosted_exit(void)
{
	struct fpstate *fpstate = x86_task_fpu(current)->fpstate;

	if (test_thread_flag(TIF_NEED_FPU_LOAD))
		restore_fpregs_from_fpstate(fpstate, fpstate->xfeatures);
}
