// SPDX-License-Identifier: GPL-2.0-only
/*
 * A livepatch that puts a speed-up into a running kernel.
 *
 * The build generates live_tables.h, which says what is replaced. The module
 * loads only into a kernel whose BTF describes the types that the compiler saw,
 * and whose functions begin as expected.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kernel.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/printk.h>

#include "live.h"
#include "live_tables.h"

void __weak live_settled(void)
{
}

void __weak live_leaving(void)
{
}

static void live_post_patch(struct klp_object *object)
{
	live_settled();
}

static void live_pre_unpatch(struct klp_object *object)
{
	live_leaving();
}

static struct klp_object live_objects[] = {
	{
		.funcs = live_functions,
		.callbacks = {
			.post_patch = live_post_patch,
			.pre_unpatch = live_pre_unpatch,
		},
	},
	{ }
};

static struct klp_patch live_patch = {
	.mod	= THIS_MODULE,
	.objs	= live_objects,
};

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

	return klp_enable_patch(&live_patch);
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
