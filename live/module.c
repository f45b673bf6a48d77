// SPDX-License-Identifier: GPL-2.0-only
/*
 * A livepatch that puts a speed-up into a running kernel.
 *
 * The build generates live_tables.h, which says what is replaced. The module
 * loads only into a kernel whose BTF describes the types that the compiler saw,
 * and whose functions begin as expected.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched/signal.h>
#include <linux/string.h>

#include "live.h"
#include "live_tables.h"

static struct klp_object live_objects[] = {
	{ .funcs = live_functions },
	{ }
};

static struct klp_patch live_patch = {
	.mod	= THIS_MODULE,
	.objs	= live_objects,
};

/* How long to wait for the transition of another livepatch, and how often to look. */
#define LIVE_WAIT_MS	120000
#define LIVE_PAUSE_MS	100

/* Make the patch what it was before klp_enable_patch(), which frees all but its kobjects. */
static void __init live_forget(struct klp_patch *patch)
{
	struct klp_object *object;
	struct klp_func *func;

	memset(&patch->kobj, 0, sizeof(patch->kobj));
	klp_for_each_object_static(patch, object) {
		memset(&object->kobj, 0, sizeof(object->kobj));
		klp_for_each_func_static(object, func)
			memset(&func->kobj, 0, sizeof(func->kobj));
	}
}

/*
 * Livepatching refuses a patch while the tasks switch to or from another one. At boot,
 * several are loaded one after the other, and nobody tries again.
 */
static int __init live_enable(void)
{
	unsigned long last = jiffies + msecs_to_jiffies(LIVE_WAIT_MS);
	int err;

	for (;;) {
		err = klp_enable_patch(&live_patch);
		if (err != -EBUSY || time_after(jiffies, last) ||
		    fatal_signal_pending(current))
			return err;
		live_forget(&live_patch);
		msleep(LIVE_PAUSE_MS);
	}
}

int __init __weak live_start(void)
{
	return 0;
}

static int __init live_init(void)
{
	unsigned int i;
	int err;

	err = live_check_places(live_places, ARRAY_SIZE(live_places));
	if (!err)
		err = live_check_signatures(live_signatures,
					    ARRAY_SIZE(live_signatures));
	for (i = 0; !err && i < ARRAY_SIZE(live_entries); i++)
		err = live_check_entry(&live_entries[i]);
	if (!err)
		err = live_start();
	if (err)
		return err;

	return live_enable();
}

/* The patch must be disabled through sysfs before the module can be unloaded. */
static void __exit live_exit(void)
{
}

module_init(live_init);
module_exit(live_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: " LIVE_TITLE);
MODULE_INFO(livepatch, "Y");
