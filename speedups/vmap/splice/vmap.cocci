// SPDX-License-Identifier: GPL-2.0-only
// Let mm/vmap.c find the address space of vmap() and map its pages, with the
// arguments that vmap() already passes on. Its area is hidden from readers of
// /proc/kcore until everything is mapped.

@area@
identifier pages, count, flags, prot;
expression size, caller;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	<...
-	get_vm_area_caller(size, flags, caller)
+	vmap_get_area(size, flags, prot, pages, caller)
	...>
 }

@map@
identifier pages, count, flags, prot;
expression addr, end, nx;
@@
 vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
 {
	<...
-	vmap_pages_range(addr, end, nx, pages, PAGE_SHIFT)
+	vmap_map_pages(addr, end, nx, pages, flags)
	...>
 }

@shown@
identifier vm;
@@
 vmap(...)
 {
	<...
+	clear_vm_uninitialized_flag(vm);
	return vm->addr;
	...>
 }
