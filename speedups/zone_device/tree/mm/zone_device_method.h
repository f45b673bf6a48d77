/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_METHOD_H
#define _MM_ZONE_DEVICE_METHOD_H

struct dev_pagemap;
struct page;

/* Writes @nr copies of a struct page. */
typedef void (zone_device_fn)(struct page *page, const struct page *tmpl, unsigned long nr);

zone_device_fn zone_device_copy;
zone_device_fn zone_device_stream;
zone_device_fn *zone_device_way(struct dev_pagemap *pgmap, unsigned long pfn,
				unsigned long end_pfn);

zone_device_fn *zone_device_chosen(struct dev_pagemap *pgmap, unsigned long pfn,
				   unsigned long end_pfn);
int zone_device_set_method(const char *name);
const char *zone_device_method(void);

#endif /* _MM_ZONE_DEVICE_METHOD_H */
