/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMMAP_HOTPLUG_H
#define _MM_MEMMAP_HOTPLUG_H

#include <linux/mmzone.h>
#include <linux/types.h>

struct page;

#ifdef CONFIG_MEMORY_HOTPLUG
unsigned long memmap_fill_pageblock(struct page *page, unsigned long pfn,
				    unsigned long end_pfn);
#else
static inline unsigned long memmap_fill_pageblock(struct page *page,
						  unsigned long pfn,
						  unsigned long end_pfn)
{
	return pfn + 1;
}
#endif

#endif /* _MM_MEMMAP_HOTPLUG_H */
