// SPDX-License-Identifier: GPL-2.0-only
// Write all PTEs of a physical range in one table together, unless it is a single page.

@range@
typedef pmd_t, phys_addr_t, pgprot_t, pgtbl_mod_mask;
identifier pmd, addr, end, phys_addr, prot, shift, mask, pte;
statement failed;
@@
 vmap_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		phys_addr_t phys_addr, pgprot_t prot,
		unsigned int shift, pgtbl_mod_mask *mask)
 {
	...
	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte)
		failed
+	if (vmap_batches() && addr + PAGE_SIZE < end) {
+		if (vmap_map_range(pte, addr, end, phys_addr, prot, shift)) {
+			*mask |= PGTBL_PTE_MODIFIED;
+			return 0;
+		}
+	}
	...
 }
