// SPDX-License-Identifier: GPL-2.0-only
// Map the blocks of huge vmalloc() in one walk, instead of in a walk for each
// block. The rule adds a return before the loop, whose shape has been the same
// since 5.13.

@blocks@
typedef pgprot_t;
identifier addr, end, prot, pages, page_shift, i, nr;
expression step;
statement S;
@@
 __vmap_pages_range_noflush(unsigned long addr, unsigned long end,
		pgprot_t prot, struct page **pages, unsigned int page_shift)
 {
	...
+	if (vmap_steps())
+		return vmap_map_blocks(addr, end, prot, pages, page_shift);
	for (i = 0; i < nr; i += step) S
	...
 }
