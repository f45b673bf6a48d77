// SPDX-License-Identifier: GPL-2.0-only
// When the first PTE of a table is cleared, let mm/vmap_unmap.c clear the others. What it
// leaves is cleared as before.

@clear@
typedef pmd_t, pgtbl_mod_mask;
identifier pmd, addr, end, mask, pte;
@@
 vunmap_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		pgtbl_mod_mask *mask)
 {
	...
	pte = pte_offset_kernel(pmd, addr);
	<...
-	addr != end
+	addr != end && !(vmap_batches() && vmap_clear_ptes(pte, addr, end))
	...>
 }
