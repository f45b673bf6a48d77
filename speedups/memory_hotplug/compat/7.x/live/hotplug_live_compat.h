/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _HOTPLUG_LIVE_COMPAT_H
#define _HOTPLUG_LIVE_COMPAT_H

/* What the replacement of move_pfn_range_to_zone() passes on. */
#define LIVE_MOVE_PARAMS	struct vmem_altmap *altmap, int migratetype, \
				bool isolate_pageblock
#define LIVE_MOVE_ARGS		altmap, migratetype, isolate_pageblock

#endif /* _HOTPLUG_LIVE_COMPAT_H */
