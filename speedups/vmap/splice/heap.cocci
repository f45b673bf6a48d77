// SPDX-License-Identifier: GPL-2.0-only
// Let the system heap map its table without an array of pages.

@heap@
type array;
identifier buffer, table, npages, pages, tmp, piter, vaddr;
iterator name for_each_sgtable_page;
expression count, space, prot;
statement failed, fill;
@@
 system_heap_do_vmap(struct system_heap_buffer *buffer)
 {
	struct sg_table *table = &buffer->sg_table;
-	int npages = count;
-	struct page **pages = space;
-	struct page **tmp = pages;
-	struct sg_page_iter piter;
	...
-	if (!pages)
-		failed
-	for_each_sgtable_page(table, &piter, 0)
-		fill
	...
-	vaddr = vmap(pages, npages, VM_MAP, prot);
-	vfree(pages);
+	vaddr = vmap_sgt(table, prot);
	...
 }
