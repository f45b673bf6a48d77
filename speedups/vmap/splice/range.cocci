// SPDX-License-Identifier: GPL-2.0-only
// Let mm/vmap.c map the PTEs of a physical range, unless it is a single page. The call
// comes after the check with which newer kernels begin, and before a page table is
// allocated.

@range@
typedef pmd_t, phys_addr_t, pgprot_t, pgtbl_mod_mask;
identifier pmd, addr, end, phys_addr, prot, shift, mask, pfn;
@@
 vmap_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		phys_addr_t phys_addr, pgprot_t prot,
		unsigned int shift, pgtbl_mod_mask *mask)
 {
	...
+	if (addr + PAGE_SIZE < end) {
+		if (vmap_map_range(pmd, addr, end, phys_addr, prot, shift, mask))
+			return 0;
+	}
	pfn = phys_addr >> PAGE_SHIFT;
	...
 }
