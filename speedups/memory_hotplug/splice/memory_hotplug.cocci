// SPDX-License-Identifier: GPL-2.0-only
// Memory is added to a zone in one function and removed from it in another. Both clear
// zone->contiguous first and scan the zone last. After an addition the scan always fails.
// After a removal it is needed only if the zone was not contiguous before: an edit of that
// call follows these rules.

@add@
identifier zone;
@@
 move_pfn_range_to_zone(struct zone *zone, ...)
 {
 	...
 	memmap_init_range(...);
-	set_zone_contiguous(zone);
 }

@remove@
identifier zone, start_pfn, nr_pages, end_pfn;
expression e;
@@
 remove_pfn_range_from_zone(struct zone *zone, unsigned long start_pfn, unsigned long nr_pages)
 {
 	const unsigned long end_pfn = e;
+	const bool was_contiguous = zone->contiguous;
 	...
 	set_zone_contiguous(zone);
 }
