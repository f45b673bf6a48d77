/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_METHOD_H
#define _MM_METHOD_H

/* Helpers for code that does its work by one of several methods. */

#include <linux/errno.h>
#include <linux/moduleparam.h>
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

#endif /* _MM_METHOD_H */
