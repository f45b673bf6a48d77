// SPDX-License-Identifier: GPL-2.0-only
// Groups of PTEs are cleared by mm/vmap.c where it can, and else as before.

@clear@
identifier pte, addr, size, ptent;
@@
 vunmap_pte_range(...)
 {
	<...
-	ptent = huge_ptep_get_and_clear(&init_mm, addr, pte, size);
+	if (vmap_clear_group(pte, size))
+		ptent = __pte(0);
+	else
+		ptent = huge_ptep_get_and_clear(&init_mm, addr, pte, size);
	...>
 }
