/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMMAP_HOTPLUG_COMPAT_H
#define _MM_MEMMAP_HOTPLUG_COMPAT_H

/* This kernel has no <linux/unroll.h>. */
#ifdef CONFIG_CC_IS_CLANG
#define unrolled_full		_Pragma("clang loop unroll(full)")
#else
#define unrolled_full		_Pragma("GCC unroll 65534")
#endif

#endif /* _MM_MEMMAP_HOTPLUG_COMPAT_H */
