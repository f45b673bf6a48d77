// SPDX-License-Identifier: GPL-2.0-only
// Let mm/vmap_unmap.c clear the contiguous PTE block at the start of a table. If it can't,
// clear it as before.

@group@
identifier pte, addr, size, ptent;
@@
 vunmap_pte_range(...)
 {
	<...
-	ptent = huge_ptep_get_and_clear(&init_mm, addr, pte, size);
+	if (vmap_batches() && vmap_clear_ptes(pte, addr, addr + size))
+		ptent = __pte(0);
+	else
+		ptent = huge_ptep_get_and_clear(&init_mm, addr, pte, size);
	...>
 }
