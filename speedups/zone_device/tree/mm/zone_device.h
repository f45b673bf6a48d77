/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_H
#define _MM_ZONE_DEVICE_H

struct dev_pagemap;
struct page;
struct vmem_altmap;

/* In mm_init.c: the slow functions, which make the templates. */
void __init_zone_device_page(struct page *page, unsigned long pfn,
			     unsigned long zone_idx, int nid,
			     struct dev_pagemap *pgmap);
unsigned long zone_device_compound_nr(unsigned long pfn,
				      struct vmem_altmap *altmap,
				      struct dev_pagemap *pgmap);

#endif /* _MM_ZONE_DEVICE_H */
