// SPDX-License-Identifier: GPL-2.0-only
// Clear PTEs by plain writes, and contiguous PTE blocks by mm/vmap.c. If it can't
// clear a block, clear it as before.

@plain@
identifier addr, pte;
@@
 vunmap_pte_range(...)
 {
+	const bool plain = vmap_steps();
	...
 }

@clear@
identifier pte, addr;
@@
 vunmap_pte_range(...)
 {
	<...
-	ptep_get_and_clear(&init_mm, addr, pte)
+	vmap_clear_pte(addr, pte, plain)
	...>
 }
