// SPDX-License-Identifier: GPL-2.0-only
// Let the walk over an array of pages use huge PMD mappings, so that it can replace the loop
// over the blocks of huge vmalloc(). Each level passes two arguments on.

@levels@
typedef pud_t, pgprot_t, pgtbl_mod_mask;
identifier pud, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_pmd_range(pud_t *pud, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, unsigned int max_shift, bool known)
 {
	...
 }

@pud@
typedef p4d_t, pgprot_t, pgtbl_mod_mask;
identifier p4d, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_pud_range(p4d_t *p4d, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, unsigned int max_shift, bool known)
 {
	<...
	vmap_pages_pmd_range(...,
-		mask)
+		mask, max_shift, known)
	...>
 }

@p4d@
typedef pgd_t, pgprot_t, pgtbl_mod_mask;
identifier pgd, addr, end, prot, pages, nr, mask;
@@
 vmap_pages_p4d_range(pgd_t *pgd, unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, int *nr,
-		pgtbl_mod_mask *mask)
+		pgtbl_mod_mask *mask, unsigned int max_shift, bool known)
 {
	<...
	vmap_pages_pud_range(...,
-		mask)
+		mask, max_shift, known)
	...>
 }

@walk@
typedef pgprot_t;
symbol mask;
identifier addr, end, prot, pages;
@@
-static int vmap_small_pages_range_noflush(unsigned long addr, unsigned long end,
-		pgprot_t prot, struct page **pages)
+static int vmap_walk_pages_noflush(unsigned long addr, unsigned long end, pgprot_t prot,
+				   struct page **pages, unsigned int max_shift, bool known)
 {
	<...
	vmap_pages_p4d_range(...,
-		&mask)
+		&mask, max_shift, known)
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
+		return vmap_walk_pages_noflush(addr, end, prot, pages, PAGE_SHIFT, false);
+	if (addr < end && vmap_batches())
+		return vmap_walk_pages_noflush(addr, end, prot, pages, page_shift, true);
	...
 }
