// SPDX-License-Identifier: GPL-2.0-only
/* Turn a process into a machine that kernel code can run on. */
#include <sys/mman.h>

#include "host.h"

extern char __executable_start[], etext[];

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
	cpus_start();
	faults_catch();
	make_text_writable();
	hosted_alternatives_apply();
	hosted_branches_apply();
	hosted_machine_init();
}
