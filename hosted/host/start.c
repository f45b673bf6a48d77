// SPDX-License-Identifier: GPL-2.0-only
/* From a process to a machine that kernel code can run on. */
#define _GNU_SOURCE
#include <sched.h>

#include "host.h"

/* A migration would have the next sample find nothing in the cache. */
static void stay_on_this_cpu(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(sched_getcpu(), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The features of the CPU have to be known by now. */
void engine_start(unsigned long llc_bytes)
{
	stay_on_this_cpu();
	faults_catch();
	hosted_alternatives_apply();
	hosted_branches_apply();
	hosted_machine_init(llc_bytes);
	hosted_fpu_init();
}
