// SPDX-License-Identifier: GPL-2.0-only
// The loop of memmap_init_zone_device() begins at the first PFN that the fast
// path left to it; all else in the function stays, so that the slow path is
// there unchanged when the fast one declines.
// The loop has had this shape since compound device pages came with 5.17.

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
