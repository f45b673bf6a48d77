// SPDX-License-Identifier: GPL-2.0-only
// Ask in all kernels whether a page is valid, faster for most pages.

@ask@
identifier page;
@@
 vmap_pages_pte_range(...)
 {
	<...
-	vmap_pages_valid(page_to_pfn(page), 1)
+	vmap_is_valid(page_to_pfn(page), vmap_batches())
	...>
 }
