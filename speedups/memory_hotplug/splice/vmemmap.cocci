// SPDX-License-Identifier: GPL-2.0-only
// vmemmap_populate_range() maps one address in each round of its loop. A round that mapped
// a page of the caller's now ends with the rest of the page table.

@share@
identifier pte, addr, start, end, node, altmap, ptpfn, flags;
statement S;
@@
 vmemmap_populate_range(unsigned long start, unsigned long end, int node,
			struct vmem_altmap *altmap, unsigned long ptpfn,
			unsigned long flags)
 {
 	<+...
 	pte = vmemmap_populate_address(addr, ...);
 	if (!pte) S
+	if (flags & VMEMMAP_POPULATE_PAGEREF)
+		addr = vmemmap_share_page(pte, addr, end, pfn_to_page(ptpfn));
 	...+>
 }
