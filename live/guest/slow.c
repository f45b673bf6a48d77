// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let one task stay in a function of the kernel: its next call of one of some functions does
 * not return until another task is named.
 */

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/ptrace.h>
#include <linux/sched.h>
#include <linux/string.h>

#define SLOW_MAX	4
#define SLOW_TICK_MS	50

static char *slow_functions[SLOW_MAX];
static int slow_nr;
module_param_array_named(functions, slow_functions, charp, &slow_nr, 0444);
MODULE_PARM_DESC(functions, "the functions; those that this kernel lacks are left out");

static int slow_task;
module_param_named(task, slow_task, int, 0644);
MODULE_PARM_DESC(task, "the PID of the task that stays; 0 for none");

static bool slow_spins;
module_param_named(spins, slow_spins, bool, 0644);
MODULE_PARM_DESC(spins, "whether it runs meanwhile; otherwise it sleeps uninterruptibly");

static uint slow_calls;
module_param_named(calls, slow_calls, uint, 0444);
MODULE_PARM_DESC(calls, "calls that took long");

static char *slow_file;
module_param_named(file, slow_file, charp, 0444);
MODULE_PARM_DESC(file, "what a kernel thread, which then stays, writes a text into");

static char *slow_text = "";
module_param_named(text, slow_text, charp, 0444);
MODULE_PARM_DESC(text, "the text");

static struct kprobe slow_probes[SLOW_MAX];

/* It runs in place of the function, which is left out once. */
static noinline notrace void slow_stay(void)
{
	while (READ_ONCE(slow_task) == current->pid) {
		if (READ_ONCE(slow_spins))
			mdelay(SLOW_TICK_MS);
		else
			schedule_timeout_uninterruptible(msecs_to_jiffies(SLOW_TICK_MS));
		cond_resched();
	}
}

static int slow_enter(struct kprobe *probe, struct pt_regs *regs)
{
	if (READ_ONCE(slow_task) != current->pid)
		return 0;

	slow_calls++;
	regs->ip = (unsigned long)slow_stay;
	return 1;
}

/* It does nothing, but a probe that has one may change where its function continues. */
static void slow_leave(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static int slow_write(void *data)
{
	struct file *file = data;
	loff_t at = 0;

	WRITE_ONCE(slow_task, current->pid);
	kernel_write(file, slow_text, strlen(slow_text), &at);
	return filp_close(file, NULL);
}

static void slow_exit(void)
{
	int i;

	for (i = 0; i < slow_nr; i++) {
		if (slow_probes[i].addr)
			unregister_kprobe(&slow_probes[i]);
	}
}

static int __init slow_init(void)
{
	struct file *file;
	int i, err, found = 0;

	for (i = 0; i < slow_nr; i++) {
		slow_probes[i].symbol_name = slow_functions[i];
		slow_probes[i].pre_handler = slow_enter;
		slow_probes[i].post_handler = slow_leave;
		err = register_kprobe(&slow_probes[i]);
		if (err)
			slow_probes[i].addr = NULL;
		else
			found++;
	}
	if (!found)
		return -ENOENT;

	if (!slow_file)
		return 0;
	file = filp_open(slow_file, O_WRONLY, 0);	/* a kernel thread of 7.3 finds no file */
	if (IS_ERR(file)) {
		slow_exit();
		return PTR_ERR(file);
	}
	return PTR_ERR_OR_ZERO(kthread_run(slow_write, file, "slow_thread"));
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: a task that stays in the kernel, for tests in guests");
