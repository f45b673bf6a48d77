/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_DEVICE_LIVE_COMPAT_H
#define _ZONE_DEVICE_LIVE_COMPAT_H

#include <linux/mm.h>
#include <linux/page-flags.h>
#include <linux/poison.h>

static inline void prep_compound_tail(struct page *head, int i)
{
	set_compound_head(&head[i], head);
	head[i].mapping = TAIL_MAPPING;
}

static inline void zone_device_live_set_pgmap(struct page *page,
					      struct dev_pagemap *pgmap)
{
	page->pgmap = pgmap;
}

/* This kernel marks pageblocks page by page, with the descriptors. */
static inline void zone_device_live_mark(unsigned long pfn,
					 unsigned long end_pfn)
{
}

#endif /* _ZONE_DEVICE_LIVE_COMPAT_H */
