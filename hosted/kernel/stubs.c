// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-ins for the rest of the kernel. No kernel header is included: they are
 * given their names by the linker, since what follows their first arguments
 * differs from kernel to kernel. What is not here and not in an object faults by
 * name when it is touched.
 */
#include "hosted.h"
#include "wanted.h"

#ifdef WANTED_init_pageblock_migratetype
void hosted_init_pageblock(void *page, int type)
	asm("init_pageblock_migratetype");
void hosted_init_pageblock(void *page, int type)
{
	hosted_pageblock(page, type);
}
#endif

#ifdef WANTED_set_pageblock_migratetype
void hosted_set_pageblock(void *page, int type)
	asm("set_pageblock_migratetype");
void hosted_set_pageblock(void *page, int type)
{
	hosted_pageblock(page, type);
}
#endif

#ifdef WANTED_cpus_read_lock
void hosted_cpus_read_lock(void) asm("cpus_read_lock");
void hosted_cpus_read_lock(void)
{
}

void hosted_cpus_read_unlock(void) asm("cpus_read_unlock");
void hosted_cpus_read_unlock(void)
{
}
#endif

#ifdef WANTED_ktime_get
unsigned long hosted_ktime_get(void) asm("ktime_get");
unsigned long hosted_ktime_get(void)
{
	return hosted_now_ns();
}
#endif

#ifdef WANTED_scnprintf
asm(".globl scnprintf\n"
    "scnprintf: jmp hosted_format\n");
#endif

/* Nobody else wants this CPU. */
asm(".globl preempt_schedule_thunk\n"
    "preempt_schedule_thunk: ret\n"
    ".globl __SCT__cond_resched\n"
    "__SCT__cond_resched: xor %eax, %eax\n"
    "ret\n");
