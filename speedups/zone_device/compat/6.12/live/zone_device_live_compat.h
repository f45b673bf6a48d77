/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_DEVICE_LIVE_COMPAT_H
#define _ZONE_DEVICE_LIVE_COMPAT_H

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
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

static inline void zone_device_live_mark_block(struct page *page)
{
	set_pageblock_migratetype(page, MIGRATE_MOVABLE);
}

#endif /* _ZONE_DEVICE_LIVE_COMPAT_H */
