// SPDX-License-Identifier: GPL-2.0-only
// Precedes zone_device_compound() in mm/mm_init.c.

/* The struct pages that are written are few if compounds share their tails. */
static unsigned long zone_device_bytes(struct dev_pagemap *pgmap, unsigned long pfn,
				       unsigned long end_pfn)
{
	return DIV_ROUND_UP(end_pfn - pfn, pgmap_vmemmap_nr(pgmap)) *
	       compound_nr_pages(pfn, pgmap_altmap(pgmap), pgmap) * sizeof(struct page);
}

/* How "auto" writes a range: by the size of the memmap. */
zone_device_fn *zone_device_way(struct dev_pagemap *pgmap, unsigned long pfn,
				unsigned long end_pfn)
{
	if (zone_device_bytes(pgmap, pfn, end_pfn) >= ZONE_DEVICE_LARGE &&
	    memcpy_streaming_ok(pfn_to_page(pfn), sizeof(struct page)))
		return zone_device_stream;

	return zone_device_copy;
}
