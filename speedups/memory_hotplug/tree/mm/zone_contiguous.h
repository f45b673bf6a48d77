/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_CONTIGUOUS_H
#define _MM_ZONE_CONTIGUOUS_H

struct zone;

void update_zone_contiguous(struct zone *zone, unsigned long start_pfn,
			    unsigned long nr_pages);

#endif /* _MM_ZONE_CONTIGUOUS_H */
