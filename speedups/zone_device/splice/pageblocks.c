// SPDX-License-Identifier: GPL-2.0-only
// Precedes zone_device_write() in mm/mm_init.c where each page marks its pageblock.

/*
 * The slow path marks a pageblock when it writes the first struct page of the block. Copied
 * struct pages do not go through there.
 */
static void zone_device_mark_pageblocks(struct dev_pagemap *pgmap, unsigned long pfn,
					unsigned long end_pfn)
{
	unsigned long at = ALIGN(pfn, pageblock_nr_pages);

	/* Shared tails are not written. */
	if (pgmap_vmemmap_nr(pgmap) > 1)
		end_pfn = pfn + compound_nr_pages(pfn, pgmap_altmap(pgmap), pgmap);

	for (; at < end_pfn; at += pageblock_nr_pages)
		set_pageblock_migratetype(pfn_to_page(at), MIGRATE_MOVABLE);
}
