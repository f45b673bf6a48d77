// SPDX-License-Identifier: GPL-2.0-only
// Map arrays of pages, and the blocks of huge vmalloc(), in one walk of mm/vmap.c. A
// single page stays in the slow path, and so does a range that is empty by mistake. The
// rule adds a return before the one that leaves pages to the slow path.

@blocks@
typedef pgprot_t;
identifier addr, end, prot, pages, page_shift;
expression small;
@@
 __vmap_pages_range_noflush(unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, unsigned int page_shift)
 {
	...
+	if (vmap_steps() && addr + PAGE_SIZE < end)
+		return vmap_map_blocks(addr, end, prot, pages, page_shift);
	if (small)
		return vmap_small_pages_range_noflush(addr, end, prot, pages);
	...
 }
