// SPDX-License-Identifier: GPL-2.0-only
/* Let memory run out while a program changes the kernel. */

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#define STARVE_MAX	4

static char *starve_program = "insmod";
module_param_named(program, starve_program, charp, 0444);
MODULE_PARM_DESC(program, "the program");

static char *starve_during;
module_param_named(during, starve_during, charp, 0444);
MODULE_PARM_DESC(during, "count only what is allocated while it runs this function");

static char *starve_functions[STARVE_MAX];
static int starve_nr;
module_param_array_named(functions, starve_functions, charp, &starve_nr, 0444);
MODULE_PARM_DESC(functions, "functions that allocate; those that this kernel lacks are left out");

static uint starve_which;
module_param_named(which, starve_which, uint, 0644);
MODULE_PARM_DESC(which, "number of the first allocation that fails; none if 0");

static uint starve_seen;
module_param_named(seen, starve_seen, uint, 0644);
MODULE_PARM_DESC(seen, "allocations so far");

static pid_t starve_pid;
static struct kprobe starve_probes[STARVE_MAX];

static noinline notrace void *starve_nothing(void)
{
	return NULL;
}

static int starve_begin(struct kretprobe_instance *call, struct pt_regs *regs)
{
	if (strcmp(current->comm, starve_program))
		return 1; /* its end is of no interest */

	WRITE_ONCE(starve_pid, current->pid);
	return 0;
}

static int starve_end(struct kretprobe_instance *call, struct pt_regs *regs)
{
	WRITE_ONCE(starve_pid, 0);
	return 0;
}

static struct kretprobe starve_span = {
	.entry_handler = starve_begin,
	.handler = starve_end,
};

static int starve_enter(struct kprobe *probe, struct pt_regs *regs)
{
	if (strcmp(current->comm, starve_program) ||
	    (starve_during && READ_ONCE(starve_pid) != current->pid))
		return 0;

	if (++starve_seen < READ_ONCE(starve_which) || !starve_which)
		return 0;

	/* Enter another function in its place, which returns NULL to the same caller. */
	regs->ip = (unsigned long)starve_nothing;
	return 1;
}

/* It does nothing, but a probe that has one may change where its function continues. */
static void starve_leave(struct kprobe *probe, struct pt_regs *regs,
			 unsigned long flags)
{
}

static void starve_exit(void)
{
	int i;

	for (i = 0; i < starve_nr; i++) {
		if (starve_probes[i].addr)
			unregister_kprobe(&starve_probes[i]);
	}
	if (starve_span.kp.addr)
		unregister_kretprobe(&starve_span);
}

static int __init starve_init(void)
{
	int i, err, found = 0;

	if (starve_during) {
		starve_span.kp.symbol_name = starve_during;
		err = register_kretprobe(&starve_span);
		if (err)
			return err;
	}

	for (i = 0; i < starve_nr; i++) {
		starve_probes[i].symbol_name = starve_functions[i];
		starve_probes[i].pre_handler = starve_enter;
		starve_probes[i].post_handler = starve_leave;
		err = register_kprobe(&starve_probes[i]);
		if (err)
			starve_probes[i].addr = NULL;
		else
			found++;
	}
	if (found)
		return 0;

	starve_exit();
	return -ENOENT;
}

module_init(starve_init);
module_exit(starve_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: allocations that fail, for tests in guests");
