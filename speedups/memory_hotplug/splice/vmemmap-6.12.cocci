// SPDX-License-Identifier: GPL-2.0-only
// As vmemmap.cocci, for kernels that pass on the shared page, and no flags.

@share@
identifier pte, addr, end, reuse;
statement S;
@@
 vmemmap_populate_range(unsigned long start, unsigned long end, ..., struct page *reuse)
 {
 	<+...
 	pte = vmemmap_populate_address(addr, ...);
 	if (!pte) S
+	if (reuse)
+		addr = vmemmap_share_page(pte, addr, end, reuse);
 	...+>
 }
