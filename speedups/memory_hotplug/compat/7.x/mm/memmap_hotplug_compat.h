/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMMAP_HOTPLUG_COMPAT_H
#define _MM_MEMMAP_HOTPLUG_COMPAT_H

#include <linux/unroll.h>

#define memmap_flags(page)	((page)->flags.f)

#endif /* _MM_MEMMAP_HOTPLUG_COMPAT_H */
