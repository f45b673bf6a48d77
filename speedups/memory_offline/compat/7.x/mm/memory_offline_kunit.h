/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMORY_OFFLINE_KUNIT_H
#define _MM_MEMORY_OFFLINE_KUNIT_H

/* Functions that only the KUnit tests call from outside of their files. */

#include <kunit/visibility.h>
#include <linux/page-isolation.h>

#if IS_ENABLED(CONFIG_KUNIT)
struct page *has_unmovable_pages(unsigned long start_pfn, unsigned long end_pfn,
				 enum pb_isolate_mode mode);
int scan_movable_pages(unsigned long start, unsigned long end, unsigned long *movable_pfn);
#endif

/* Whether a page of a pageblock is unmovable, for offlining or for another purpose. */
#define offline_unmovable(start, end, offline)				\
	has_unmovable_pages(start, end, (offline) ? PB_ISOLATE_MODE_MEM_OFFLINE :	\
			    PB_ISOLATE_MODE_OTHER)

#define offline_move(zone, start_pfn, nr_pages)				\
	move_pfn_range_to_zone(zone, start_pfn, nr_pages, NULL, MIGRATE_MOVABLE, false)

#endif /* _MM_MEMORY_OFFLINE_KUNIT_H */
