// SPDX-License-Identifier: GPL-2.0-only
// Map in batches in the walk over single pages, and blocks by leaf entries, so that it can
// replace the loop over the blocks of huge vmalloc(). Each level passes on one argument more.

@pte@
typedef pmd_t, pgprot_t, pgtbl_mod_mask;
identifier pmd, addr, end, prot, pages, nr, mask, pte;
statement failed;
@@
 vmap_pages_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, struct vmap_walk *walk)
 {
	...
	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte)
		failed
+	if (vmap_try_batch(walk, pages, nr, prot, &pte, &addr, end)) {
+		*mask |= PGTBL_PTE_MODIFIED;
+		return 0;
+	}
	...
 }

@valid@
identifier page;
@@
 vmap_pages_pte_range(...)
 {
	<...
-	pfn_valid(page_to_pfn(page))
+	vmap_pages_valid(page_to_pfn(page), 1)
	...>
 }

@pmd@
typedef pud_t, pgprot_t, pgtbl_mod_mask;
identifier pud, addr, end, prot, pages, nr, mask, pmd, next;
statement failed;
@@
 vmap_pages_pmd_range(pud_t *pud, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, struct vmap_walk *walk)
 {
	<...
-	if (vmap_pages_pte_range(pmd, addr, next, prot, pages, nr, mask))
+	if (vmap_prepare_block(walk, pages + *nr, pmd, addr, end)) {
+		phys_addr_t phys_addr = page_to_phys(pages[*nr]);
+
+		if (vmap_try_huge_pmd(pmd, addr, next, phys_addr, prot, walk->max_shift)) {
+			*mask |= PGTBL_PMD_MODIFIED;
+			*nr += (next - addr) >> PAGE_SHIFT;
+			continue;
+		}
+	}
+	if (vmap_pages_pte_range(pmd, addr, next, prot, pages, nr, mask, walk))
		failed
	...>
 }

@pud@
typedef p4d_t, pgprot_t, pgtbl_mod_mask;
identifier p4d, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_pud_range(p4d_t *p4d, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, struct vmap_walk *walk)
 {
	<...
	vmap_pages_pmd_range(...,
-		mask)
+		mask, walk)
	...>
 }

@p4d@
typedef pgd_t, pgprot_t, pgtbl_mod_mask;
identifier pgd, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_p4d_range(pgd_t *pgd, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, struct vmap_walk *walk)
 {
	<...
	vmap_pages_pud_range(...,
-		mask)
+		mask, walk)
	...>
 }

@walk@
typedef pgprot_t;
symbol mask;
identifier addr, end, prot, pages;
@@
-static int vmap_small_pages_range_noflush(unsigned long addr, unsigned long end,
-		pgprot_t prot, struct page **pages)
+int vmap_walk_pages_noflush(unsigned long addr, unsigned long end, pgprot_t prot,
+			    struct page **pages, struct vmap_walk *walk)
 {
	<...
	vmap_pages_p4d_range(...,
-		&mask)
+		&mask, walk)
	...>
 }

@blocks@
identifier addr, end, prot, pages, page_shift;
expression small;
@@
 __vmap_pages_range_noflush(unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, unsigned int page_shift)
 {
	...
	if (small)
-		return vmap_small_pages_range_noflush(addr, end, prot, pages);
+		return vmap_walk_pages_noflush(addr, end, prot, pages, NULL);
+	if (addr < end && vmap_batches())
+		return vmap_map_pages(addr, end, prot, pages, page_shift, page_shift);
	...
 }
