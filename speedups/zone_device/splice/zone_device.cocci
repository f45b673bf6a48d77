// SPDX-License-Identifier: GPL-2.0-only
// The loop of memmap_init_zone_device() starts at the first PFN that the fast path
// leaves to it. The rest of the function does not change, so the slow path stays
// complete for calls that the fast path declines.
// The loop has had this shape since 5.17 introduced compound device pages.

@loop@
identifier pfn, start_pfn, end_pfn, pgmap, step;
statement S;
@@
 memmap_init_zone_device(...,
		struct dev_pagemap *pgmap)
 {
	...
+	pfn = zone_device_memmap_init(start_pfn, end_pfn, zone_idx, nid, pgmap);
	for (
-	     pfn = start_pfn
	     ; pfn < end_pfn; pfn += step) S
	...
 }

// A kernel with templates of its own makes the first one before the loop. What the
// fast path declines is left to them.
@templates depends on !loop@
identifier pfn, start_pfn, end_pfn, pgmap, step;
statement S;
@@
 memmap_init_zone_device(...,
		struct dev_pagemap *pgmap)
 {
	...
-	pfn = start_pfn;
+	pfn = zone_device_memmap_init(start_pfn, end_pfn, zone_idx, nid, pgmap);
+	if (pfn == end_pfn)
+		goto written;
	...
	for (; pfn < end_pfn; pfn += step) S
+written:
	pageblock_migratetype_init_range(...);
	...
 }
