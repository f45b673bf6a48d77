// SPDX-License-Identifier: GPL-2.0-only
// Address space and huge PMD mappings for vmap(), in mm/vmalloc.c.

/*
 * Whether a mapping of vmap() may have leaf entries that are larger than a page. Areas from
 * the pools are too small. One that owns its pages may not, because vrealloc() may unmap and
 * free its last pages.
 */
static bool vmap_may_be_huge(unsigned long size, unsigned long flags, pgprot_t prot)
{
	return size >= MAX_VA_SIZE_PAGES * PAGE_SIZE && vmap_batches() && vmap_allow_huge &&
	       arch_vmap_pmd_supported(prot) && !(flags & VM_MAP_PUT_PAGES);
}

/*
 * The alignment with which an area of @size bytes can begin with a leaf entry of 1 << @shift
 * bytes, or 0. Only both ends of the first block are compared. The walk compares all pages later,
 * and falls back to PTEs if they are not contiguous.
 */
static unsigned long vmap_array_align(struct page **pages, unsigned long size, unsigned int shift)
{
	unsigned long nr = 1UL << (shift - PAGE_SHIFT);

	if (size >> shift == 0 || !pages[0] || !IS_ALIGNED(page_to_pfn(pages[0]), nr) ||
	    pages[nr - 1] != pages[0] + (nr - 1))
		return 0;

	return nr * PAGE_SIZE;
}

/**
 * vmap_get_area - find address space for vmap()
 * @size: size of the mapping
 * @flags: VM_MAP and other flags of the area
 * @prot: protection bits of the mapping
 * @pages: the pages that will be mapped, @size bytes of them
 * @caller: caller of vmap()
 *
 * If the pages begin with a block that a larger leaf entry can map, the area is aligned for it.
 * If no address is aligned, lazily freed areas are purged, and then any address is used. Small
 * areas come from the pools, which have few addresses, so these ask for no alignment.
 *
 * Context: process context, may sleep.
 * Return: the area, or NULL if no address space is left.
 */
static noinline struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
						pgprot_t prot, struct page **pages,
						const void *caller)
{
	struct vm_struct *area;
	unsigned long align = 0;

	if (vmap_may_be_huge(size, flags, prot))
		align = vmap_array_align(pages, size, PMD_SHIFT) ?:
			vmap_array_align(pages, size, arch_vmap_pte_supported_shift(size));
	if (align > PAGE_SIZE) {
		area = __get_vm_area_node(size, align, PAGE_SHIFT, flags,
					  VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
					  GFP_KERNEL | __GFP_NOWARN, caller);
		if (area)
			return area;
	}

	return get_vm_area_caller(size, flags, caller);
}

/**
 * vmap_fill_area - map the pages of vmap()
 * @addr: start of the area
 * @end: end of the mapping
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @flags: flags of the area
 *
 * With VM_MAP_PUT_PAGES in @flags, every leaf entry maps one page, and the caller may
 * unmap a part. Otherwise it must unmap the whole mapping at once.
 *
 * Context: process context, may sleep.
 * Return: 0 or an error, after which a part of the pages may be mapped.
 */
static int vmap_fill_area(unsigned long addr, unsigned long end, pgprot_t prot,
			  struct page **pages, unsigned long flags)
{
	unsigned int max_shift = vmap_may_be_huge(end - addr, flags, prot) ? PMD_SHIFT : PAGE_SHIFT;
	int err;

	/* KMSAN maps the shadow pages, which need not be contiguous. */
	err = kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT, GFP_KERNEL);
	if (!err)
		err = vmap_walk_pages_noflush(addr, end, prot, pages, max_shift, false);
	flush_cache_vmap(addr, end);

	return err;
}
