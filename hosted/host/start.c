// SPDX-License-Identifier: GPL-2.0-only
/* Turn a process into a machine that kernel code can run on. */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>

#include "host.h"

extern char __executable_start[], etext[];

/* After a migration the next sample would find nothing in the cache. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Alternatives and static keys are patched into the text. */
static void make_text_writable(void)
{
	unsigned long text = (unsigned long)__executable_start & -4096UL;

	if (mprotect((void *)text, (unsigned long)etext - text,
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		hosted_die("can't make the text writable");
}

/* Call hosted_cpu_from_cpuid() and force CPU features before this. */
void engine_start(void)
{
	stay_on_this_cpu();
	faults_catch();
	make_text_writable();
	hosted_alternatives_apply();
	hosted_branches_apply();
	hosted_machine_init();
	hosted_fpu_init();
}
