/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_PAGEBLOCK_H
#define _MM_ZONE_DEVICE_PAGEBLOCK_H

/* memmap_init_zone_device() marks all pageblocks itself, after its loop. */
static inline void zone_device_mark_pageblocks(unsigned long pfn,
					       unsigned long nr)
{
}

#endif /* _MM_ZONE_DEVICE_PAGEBLOCK_H */
