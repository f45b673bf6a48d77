/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMORY_HOTPLUG_KUNIT_COMPAT_H
#define _MM_MEMORY_HOTPLUG_KUNIT_COMPAT_H

/* Where set_zone_contiguous() is declared. */
#include "internal.h"

#define hotplug_move(zone, start_pfn, nr_pages)				\
	move_pfn_range_to_zone(zone, start_pfn, nr_pages, NULL,		\
			       MIGRATE_MOVABLE)

#endif /* _MM_MEMORY_HOTPLUG_KUNIT_COMPAT_H */
