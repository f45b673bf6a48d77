/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_INTERNAL_H
#define _MM_ZONE_DEVICE_INTERNAL_H

/* Shared by zone_device.c and zone_device_method.c. */

#include <linux/align.h>
#include <linux/memremap.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page_ref.h>
#include <linux/sched.h>
#include <linux/streaming_copy.h>
#include <linux/string.h>

#include "internal.h"
#include "method.h"
#include "zone_device.h"
#include "zone_device_compat.h"
#include "zone_device_pageblock.h"

#if defined(SECTION_IN_PAGE_FLAGS) || defined(WANT_PAGE_VIRTUAL)
#define ZONE_DEVICE_DESCRIPTORS_DIFFER	true
#else
#define ZONE_DEVICE_DESCRIPTORS_DIFFER	false
#endif

/**
 * struct zone_device_run - one call of memmap_init_zone_device()
 * @pgmap: of the range
 * @method: replicates the templates
 * @credit: descriptors that may be written until @method must pause
 * @begun: whether the state that @method needs has been entered
 * @head: template of heads, or of all pages if there are no compounds
 * @tail: template of tails
 *
 * The templates are never passed to the slow functions, because those check that
 * their argument is part of the memmap.
 */
struct zone_device_run {
	struct dev_pagemap *pgmap;
	const struct zone_device_method *method;
	unsigned long credit;
	bool begun;
	struct page head;
	struct page tail;
};

bool zone_device_is_off(void);
const struct zone_device_method *zone_device_choose(struct dev_pagemap *pgmap,
						    unsigned long pfn,
						    unsigned long end_pfn);

#endif /* _MM_ZONE_DEVICE_INTERNAL_H */
