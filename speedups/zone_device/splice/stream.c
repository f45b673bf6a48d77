// SPDX-License-Identifier: GPL-2.0-only
// Follows the plain copy in mm/zone_device.c.

void zone_device_stream(struct page *page, struct page *tmpl, unsigned long nr)
{
	for (; nr; nr--, page++) {
		zone_device_refresh(tmpl, page_to_pfn(page));
		memcpy_streaming(page, tmpl, sizeof(*page));
	}
}

/* Choose by the descriptors to write, which are few if compounds share their tails. */
zone_device_fn *zone_device_way(struct dev_pagemap *pgmap, unsigned long pfn,
				unsigned long end_pfn)
{
	unsigned long nr = DIV_ROUND_UP(end_pfn - pfn, pgmap_vmemmap_nr(pgmap)) *
			   zone_device_compound_nr(pfn, pgmap_altmap(pgmap), pgmap);

	if (nr * sizeof(struct page) >= ZONE_DEVICE_LARGE)
		return zone_device_stream;

	return zone_device_copy;
}
