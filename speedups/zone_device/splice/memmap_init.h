// SPDX-License-Identifier: GPL-2.0-only
// Follows the slow functions in mm/zone_device.h.

/* Writes @nr copies of a descriptor. */
typedef void (zone_device_fn)(struct page *page, const struct page *tmpl, unsigned long nr);

zone_device_fn zone_device_copy;
unsigned long zone_device_memmap_init(unsigned long start_pfn, unsigned long end_pfn,
				      unsigned long zone_idx, int nid,
				      struct dev_pagemap *pgmap);
