// SPDX-License-Identifier: GPL-2.0-only
// Memory is added to a zone in one function and removed from it in another. Both
// clear zone->contiguous first and set it last. set_zone_contiguous() itself does
// not change: it scans all zones at boot, and it is the oracle of the tests.

@include@
@@
 #include "internal.h"
+#include "zone_contiguous.h"

@add@
identifier zone, start_pfn, nr_pages;
@@
 move_pfn_range_to_zone(struct zone *zone, unsigned long start_pfn, unsigned long nr_pages, ...)
 {
 	<+...
-	set_zone_contiguous(zone);
+	update_zone_contiguous(zone, start_pfn, nr_pages);
 	...+>
 }

@remove@
identifier zone, start_pfn, nr_pages;
@@
 remove_pfn_range_from_zone(struct zone *zone, unsigned long start_pfn, unsigned long nr_pages)
 {
 	<+...
-	set_zone_contiguous(zone);
+	update_zone_contiguous(zone, start_pfn, nr_pages);
 	...+>
 }
