// SPDX-License-Identifier: GPL-2.0-only
// Map in batches in the walk over single pages. What they leave is mapped one at a time,
// which finds what is wrong with a page or its PTE. Most mappings have few pages, and some
// compilers make those slower without the hint.

@pte@
typedef pmd_t, pgprot_t, pgtbl_mod_mask;
identifier pmd, addr, end, prot, pages, nr, mask, pte;
statement failed;
@@
 vmap_pages_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, unsigned int max_shift)
 {
	...
	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte)
		failed
+	if (unlikely(end - addr >= VMAP_RUN_MIN * PAGE_SIZE) && vmap_batches()) {
+		unsigned long batch = vmap_map_batch(pages + *nr, prot, pte, addr, end, max_shift);
+
+		*nr += batch;
+		pte += batch;
+		addr += batch * PAGE_SIZE;
+		*mask |= PGTBL_PTE_MODIFIED;
+		if (addr == end)
+			return 0;
+	}
	...
 }

@pmd@
expression pmd, addr, next, prot, pages, nr, mask;
@@
 vmap_pages_pmd_range(...)
 {
	<...
	vmap_pages_pte_range(pmd, addr, next, prot, pages, nr,
-		mask)
+		mask, max_shift)
	...>
 }
