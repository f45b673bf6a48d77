/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_METHOD_H
#define _MM_METHOD_H

/* Helpers for code that does its work by one of several methods. */

#include <linux/cacheinfo.h>
#include <linux/cpu.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/moduleparam.h>
#include <linux/smp.h>
#include <linux/sysfs.h>

/**
 * DEFINE_METHOD_PARAM - define the parameter that chooses a method
 * @__name: prefix of two functions: @__name_set_method() takes the name of a
 *	    method and returns 0 or an error, and @__name_method() returns the
 *	    name of the method in use
 *
 * The name of the parameter is MODULE_PARAM_PREFIX followed by "method". Describe it
 * with MODULE_PARM_DESC().
 */
#define DEFINE_METHOD_PARAM(__name)					\
static int __name ## _param_set(const char *val,			\
				const struct kernel_param *kp)		\
{									\
	return val ? __name ## _set_method(val) : -EINVAL;		\
}									\
									\
static int __name ## _param_get(char *buffer,				\
				const struct kernel_param *kp)		\
{									\
	return sysfs_emit(buffer, "%s\n", __name ## _method());		\
}									\
									\
static const struct kernel_param_ops __name ## _param_ops = {		\
	.set = __name ## _param_set,					\
	.get = __name ## _param_get,					\
};									\
									\
module_param_cb(method, &__name ## _param_ops, NULL, 0644)

/**
 * method_llc_bytes - get the size of the largest cache of this CPU
 *
 * Context: process context, may sleep.
 * Return: bytes, or 0 if the machine does not describe its caches.
 */
static inline unsigned long method_llc_bytes(void)
{
	struct cpu_cacheinfo *ci;
	unsigned long size = 0;
	unsigned int i;

	/* A CPU that comes online may replace its list. */
	cpus_read_lock();
	ci = get_cpu_cacheinfo(raw_smp_processor_id());
	if (ci && ci->info_list) {
		for (i = 0; i < ci->num_leaves; i++)
			size = max_t(unsigned long, size, ci->info_list[i].size);
	}
	cpus_read_unlock();

	return size;
}

#endif /* _MM_METHOD_H */
