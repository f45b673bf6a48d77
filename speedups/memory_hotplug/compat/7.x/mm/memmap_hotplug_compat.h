/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMMAP_HOTPLUG_COMPAT_H
#define _MM_MEMMAP_HOTPLUG_COMPAT_H

#include <linux/unroll.h>

#endif /* _MM_MEMMAP_HOTPLUG_COMPAT_H */
