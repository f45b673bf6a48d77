// SPDX-License-Identifier: GPL-2.0-only
// memmap_init_range() writes one struct page in each round of its loop, and then looks
// after the pageblock that begins there. A round now ends with copies of this
// struct page, up to the end of its pageblock. The rest of the loop does not change.

@include@
@@
 #include "internal.h"
+#include "memmap_hotplug.h"

@fill@
identifier pfn, start_pfn, end_pfn, context, page;
@@
 memmap_init_range(..., enum meminit_context context, ...)
 {
 	<+...
 	for (pfn = start_pfn; pfn < end_pfn;) {
 	<+...
 	page = pfn_to_page(pfn);
 	...
-	pfn++;
+	if (context == MEMINIT_HOTPLUG)
+		pfn = memmap_fill_pageblock(page, pfn, end_pfn);
+	else
+		pfn++;
 	...+>
 	}
 	...+>
 }
