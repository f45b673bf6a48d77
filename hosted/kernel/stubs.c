// SPDX-License-Identifier: GPL-2.0-only
/*
 * Stand-ins for the rest of the kernel. They include no kernel header; asm()
 * gives them their names, because kernels declare them with different arguments
 * after the first ones. A symbol that is neither here nor in an object is
 * reported by name when it is touched.
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

/* No other task ever runs on this CPU. */
asm(".globl preempt_schedule_thunk\n"
    "preempt_schedule_thunk: ret\n"
    ".globl __SCT__cond_resched\n"
    "__SCT__cond_resched: xor %eax, %eax\n"
    "ret\n");

/* Nothing here waits for a grace period. */
#ifdef WANTED___rcu_read_lock
asm(".globl __rcu_read_lock, __rcu_read_unlock\n"
    "__rcu_read_lock:\n"
    "__rcu_read_unlock: ret\n");
#endif
