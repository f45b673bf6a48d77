// SPDX-License-Identifier: GPL-2.0-only
// Let mm/vmap_area.c find the address space of vmap() and map its pages, with the
// arguments that vmap() already passes on. Areas that its pools hold stay as they are.

@area@
identifier pages, count, flags, prot, vm;
expression size, caller;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	<...
-	vm = get_vm_area_caller(size, flags, caller);
+	if (count >= VMAP_POOL_PAGES)
+		vm = vmap_get_area(size, flags, prot, pages, caller);
+	else
+		vm = get_vm_area_caller(size, flags, caller);
	...>
 }

@map@
identifier pages, count, flags, prot, addr, area.vm;
expression area.size, start, end, nx;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	...
-	unsigned long addr;
	...
-	addr = start;
	<...
-	vmap_pages_range(addr, end, nx, pages, PAGE_SHIFT)
+	vmap_map_area(vm, size, nx, pages)
	...>
 }
