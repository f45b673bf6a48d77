// SPDX-License-Identifier: GPL-2.0-only
// The mapping part of vmap(), in mm/vmalloc.c.

static_assert(VMAP_POOL_PAGES == MAX_VA_SIZE_PAGES);

/* Areas from the pools are too small for larger leaf entries. */
static int vmap_map_area(struct vm_struct *area, unsigned long size, pgprot_t prot,
			 struct page **pages)
{
	unsigned long addr = (unsigned long)area->addr;

	if (size < VMAP_POOL_PAGES * PAGE_SIZE)
		return vmap_pages_range(addr, addr + size, prot, pages, PAGE_SHIFT);

	return vmap_fill_area(addr, addr + size, prot, pages, area->flags);
}
