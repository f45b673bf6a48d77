// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap_area.c has, in mm/vmap.h.

/* mm/vmap_area.c */
struct vm_struct *vmap_aligned_area(unsigned long size, unsigned long align,
				    unsigned long flags, const void *caller);
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller);
int vmap_fill_area(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags);
