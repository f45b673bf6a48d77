// SPDX-License-Identifier: GPL-2.0-only
// Let vmap() ask for address space and map its pages so that huge PMD mappings can be used.

@area@
identifier pages, count, flags, prot, vm;
expression size, caller;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	<...
-	vm = get_vm_area_caller(size, flags, caller);
+	vm = vmap_get_area(size, flags, prot, pages, caller);
	...>
 }

@map@
identifier pages, count, flags, prot;
expression start, end, nx;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	<...
-	vmap_pages_range(start, end, nx, pages, PAGE_SHIFT)
+	vmap_fill_area(start, end, nx, pages, flags)
	...>
 }
