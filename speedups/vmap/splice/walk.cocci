// SPDX-License-Identifier: GPL-2.0-only
// Map in batches in the walk over single pages, and blocks by leaf entries, so that it can
// replace the loop over the blocks of huge vmalloc(). Each level passes on one argument more.

@pte@
typedef pmd_t, pgprot_t, pgtbl_mod_mask;
symbol page;
identifier pmd, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, struct vmap_walk *walk)
 {
	<...
	struct page *page = pages[*nr];
+	unsigned long batch = vmap_try_batch(walk, pages + *nr, prot, pte, addr, end);
+
+	if (batch) {
+		*nr += batch;
+		pte += batch - 1;
+		addr += (batch - 1) * PAGE_SIZE;
+		continue;
+	}
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
+	if (vmap_is_block(walk, pages + *nr, pmd, addr, end)) {
+		phys_addr_t phys_addr = page_to_phys(pages[*nr]);
+
+		if (vmap_try_huge_pmd(pmd, addr, next, phys_addr, prot, walk->max_shift)) {
+			*mask |= PGTBL_PMD_MODIFIED;
+			*nr += PTRS_PER_PTE;
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
typedef pgprot_t, pgtbl_mod_mask;
symbol mask;
identifier addr, end, prot, pages;
@@
-static int vmap_small_pages_range_noflush(unsigned long addr, unsigned long end,
-		pgprot_t prot, struct page **pages)
+int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot, struct page **pages,
+		   unsigned int max_shift, unsigned int known_shift)
 {
	<...
(
	pgtbl_mod_mask mask = 0;
+	struct vmap_walk walk = {
+		.max_shift = max_shift,
+		.known_shift = known_shift,
+	};
|
	vmap_pages_p4d_range(...,
-		&mask)
+		&mask, &walk)
)
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
+		return vmap_map_pages(addr, end, prot, pages, PAGE_SHIFT, PAGE_SHIFT);
+	if (addr < end && vmap_batches())
+		return vmap_map_pages(addr, end, prot, pages, page_shift, page_shift);
	...
 }
