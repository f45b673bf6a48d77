/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_DEVICE_LIVE_COMPAT_H
#define _ZONE_DEVICE_LIVE_COMPAT_H

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/page-flags.h>
#include <linux/page-isolation.h>
#include <linux/poison.h>

static inline void prep_compound_tail(struct page *tail,
				      const struct page *head,
				      unsigned int order)
{
	set_compound_head(tail, head, order);
	tail->mapping = TAIL_MAPPING;
}

/* @page is not a tail yet; pgmap shares its word with compound_info. */
static inline void zone_device_live_set_pgmap(struct page *page,
					      struct dev_pagemap *pgmap)
{
	((struct folio *)page)->pgmap = pgmap;
}

/*
 * 7.3 asks kho_scratch_migratetype() for the type. Device memory is never KHO scratch, so
 * that is MIGRATE_MOVABLE, too.
 */
static inline void zone_device_live_mark_block(struct page *page)
{
	init_pageblock_migratetype(page, MIGRATE_MOVABLE, false);
}

#endif /* _ZONE_DEVICE_LIVE_COMPAT_H */
