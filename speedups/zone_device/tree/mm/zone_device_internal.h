/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_INTERNAL_H
#define _MM_ZONE_DEVICE_INTERNAL_H

/* Everything that zone_device.c needs from the kernel around it. */

#include <linux/align.h>
#include <linux/cacheinfo.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/smp.h>
#include <linux/streaming_copy.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "internal.h"
#include "zone_device.h"
#include "zone_device_compat.h"
#include "zone_device_pageblock.h"

#include <asm/zone_device.h>

#endif /* _MM_ZONE_DEVICE_INTERNAL_H */
