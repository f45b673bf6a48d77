/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_DEVICE_LIVE_INTERNAL_H
#define _ZONE_DEVICE_LIVE_INTERNAL_H

/*
 * Definitions of a kernel tree that a kernel's headers lack. This file takes the
 * place of mm/internal.h.
 */

#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/string.h>

#include "zone_device_live_compat.h"

/* The kernel's own function, replaced or not, and its replacement. */
extern typeof(memmap_init_zone_device) live_original_memmap_init_zone_device;
extern typeof(memmap_init_zone_device) live_memmap_init_zone_device;

/* The speed-up, and what it calls: live.c has its own. */
unsigned long live_zone_device_init(unsigned long start_pfn, unsigned long end_pfn,
				    unsigned long zone_idx, int nid, struct dev_pagemap *pgmap);
void __init_zone_device_page(struct page *page, unsigned long pfn, unsigned long zone_idx,
			     int nid, struct dev_pagemap *pgmap);
unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap);

/* Uses what zone_device_live_prove() has learned from the kernel's own. */
void prep_compound_head(struct page *head, unsigned int order);

#endif /* _ZONE_DEVICE_LIVE_INTERNAL_H */
