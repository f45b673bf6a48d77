// SPDX-License-Identifier: GPL-2.0-only
/* Delay each call of some functions of the kernel, so that their callers take long. */

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#define SLOW_MAX	4

static char *slow_functions[SLOW_MAX];
static int slow_nr;
module_param_array_named(functions, slow_functions, charp, &slow_nr, 0444);
MODULE_PARM_DESC(functions, "the functions; those that this kernel lacks are left out");

static uint slow_delay_ms;
module_param_named(delay_ms, slow_delay_ms, uint, 0644);
MODULE_PARM_DESC(delay_ms, "the delay");

static uint slow_calls;
module_param_named(calls, slow_calls, uint, 0444);
MODULE_PARM_DESC(calls, "calls that were delayed");

static struct kprobe slow_probes[SLOW_MAX];

static int slow_enter(struct kprobe *probe, struct pt_regs *regs)
{
	uint delay = READ_ONCE(slow_delay_ms);

	if (delay) {
		slow_calls++;
		mdelay(delay);
	}

	return 0;
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
	int i, err, found = 0;

	for (i = 0; i < slow_nr; i++) {
		slow_probes[i].symbol_name = slow_functions[i];
		slow_probes[i].pre_handler = slow_enter;
		err = register_kprobe(&slow_probes[i]);
		if (err)
			slow_probes[i].addr = NULL;
		else
			found++;
	}

	return found ? 0 : -ENOENT;
}

module_init(slow_init);
module_exit(slow_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: delays in the kernel, for tests in guests");
