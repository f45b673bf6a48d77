// SPDX-License-Identifier: GPL-2.0-only
// Asks for each PFN only where it may be refused, and makes each PTE from the one before. The
// declarations of both variables are an edit, since spatch would break their lines elsewhere.

@next@
expression mm, addr, pte, pfn, prot;
@@
 remap_pte_range(...)
 {
	<...
-	if (!pfn_modify_allowed(pfn, prot))
+	if (check && !pfn_modify_allowed(pfn, prot))
	{
		...
	}
-	set_pte_at(mm, addr, pte, pte_mkspecial(pfn_pte(pfn, prot)));
+	set_pte_at(mm, addr, pte, entry);
	pfn++;
+	entry = pte_next_special(entry, pfn, prot);
	...>
 }
