// SPDX-License-Identifier: GPL-2.0-only
// Map arrays of pages, and the blocks of huge vmalloc(), in one walk of mm/vmap.c.
// A few pages stay in the slow path, and so does a range that is empty by mistake.

@array@
typedef pgprot_t;
identifier addr, end, prot, pages, pgd;
@@
 vmap_small_pages_range_noflush(unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages)
 {
	...
+	if (addr + VMAP_FEW_PAGES * PAGE_SIZE < end && vmap_batches())
+		return vmap_map_pages(addr, end, prot, pages, PAGE_SHIFT, PAGE_SHIFT);
	pgd = pgd_offset_k(addr);
	...
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
		return vmap_small_pages_range_noflush(addr, end, prot, pages);
+	if (addr + VMAP_FEW_PAGES * PAGE_SIZE < end && vmap_batches())
+		return vmap_map_pages(addr, end, prot, pages, page_shift, page_shift);
	...
 }
