// SPDX-License-Identifier: GPL-2.0-only
// __free_pages_core() has a loop over struct pages that were hot-added, and one over
// those that were there at boot. Only the first one clears PageOffline. It remains for
// what memmap_online() declines.

@include@
@@
 #include "internal.h"
+#include "memmap_hotplug.h"

@online@
identifier page, nr_pages, loop, p;
expression c;
statement S;
@@
 __free_pages_core(struct page *page, ...)
 {
 	<+...
+	loop = memmap_online(page, nr_pages, is_check_pages_enabled());
+	if (loop)
+		fpi_flags |= FPI_CLEAN;
 	for (
-	     loop = 0
 	     ; loop < nr_pages; loop++, p++) { <+... __ClearPageOffline(p); ...+> }
 	...+>
 }

@free@
identifier online.nr_pages;
@@
 __free_pages_core(...)
 {
+	fpi_t fpi_flags = FPI_TO_TAIL;
 	unsigned int nr_pages = ...;
 	<+...
 	__free_pages_ok(...,
-		FPI_TO_TAIL
+		fpi_flags
 		);
 	...+>
 }
