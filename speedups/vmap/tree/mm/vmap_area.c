// SPDX-License-Identifier: GPL-2.0-only
/* Find address space in which memory can be mapped by large leaf entries. */

#include "vmap_internal.h"

/*
 * Find the alignment with which an area for @nr pages can have leaf entries of @leaf
 * pages. This is worthwhile if the pages begin with a run that covers a whole
 * aligned block of @leaf pages.
 *
 * Only both ends of the first block are compared. The walk compares all pages later,
 * and falls back to PTEs if they are not contiguous.
 *
 * Return: the alignment, or 0 if it does not matter.
 */
static unsigned long vmap_array_align(struct page **pages, unsigned long nr,
				      unsigned long leaf)
{
	unsigned long lead, align;

	if (!pages[0])
		return 0;
	lead = -page_to_pfn(pages[0]) % leaf;
	align = vmap_align_for(leaf * PAGE_SIZE, lead * PAGE_SIZE);
	if (!align)
		return 0;
	if (nr < lead + leaf || pages[lead] != pages[0] + lead)
		return 0;
	lead += leaf - 1;

	return pages[lead] == pages[0] + lead ? align : 0;
}

/* The alignment for the largest leaf entry that the pages can have; 0 if none matters. */
static noinline unsigned long vmap_best_align(struct page **pages, unsigned long nr,
					      unsigned long flags, pgprot_t prot)
{
	unsigned long align = 0;

	if (!vmap_may_be_huge(flags, prot))
		return 0;
	if (nr >= VMAP_PMD_PAGES)
		align = vmap_array_align(pages, nr, VMAP_PMD_PAGES);
	if (!align)
		align = vmap_array_align(pages, nr, VMAP_LEAST / PAGE_SIZE);

	return align;
}

/**
 * vmap_aligned_area - get an area, with an alignment if there is space
 * @size: size of the mapping
 * @align: its alignment, from vmap_align_for(); 0 if it does not matter
 * @flags: VM_MAP and other flags of the area
 * @caller: who asked for the mapping
 *
 * - Without an aligned address, any address is used.
 * - If no address is aligned, lazily freed areas are purged before any address is used.
 * - The search skips free ranges that are larger than the area by less than the
 *   alignment, although some of them would fit. This matters only when vmalloc space
 *   is nearly exhausted.
 *
 * Context: process context, may sleep.
 * Return: the area, or NULL if no address space is left.
 */
struct vm_struct *vmap_aligned_area(unsigned long size, unsigned long align,
				    unsigned long flags, const void *caller)
{
	struct vm_struct *area;

	if (align) {
		area = __get_vm_area_node(size, align, PAGE_SHIFT, flags,
					  VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
					  GFP_KERNEL | __GFP_NOWARN, caller);
		if (area)
			return area;
	}

	return get_vm_area_caller(size, flags, caller);
}

/**
 * vmap_get_area - find address space for vmap()
 * @size: size of the mapping
 * @flags: VM_MAP and other flags of the area
 * @prot: protection bits of the mapping
 * @pages: the pages that will be mapped, @size bytes of them
 * @caller: caller of vmap()
 *
 * If the pages begin with a run that is long enough, the area is aligned like it.
 * Small areas come from the pools of vmalloc.c, which need no lock that all CPUs share,
 * but have few addresses. So these ask for no alignment.
 *
 * See vmap_aligned_area().
 *
 * Context: process context, may sleep.
 * Return: the area, or NULL if no address space is left.
 */
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller)
{
	unsigned long align = 0;

	if (size >= VMAP_POOL_PAGES * PAGE_SIZE)
		align = vmap_best_align(pages, size >> PAGE_SHIFT, flags, prot);

	return vmap_aligned_area(size, align, flags, caller);
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
 * Return: as vmap_map_pages().
 */
int vmap_fill_area(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags)
{
	int err;

	/* KMSAN maps the shadow pages, which need not be contiguous. */
	err = kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT, GFP_KERNEL);
	if (!err && end - addr >= VMAP_LEAST && vmap_may_be_huge(flags, prot))
		err = vmap_map_pages(addr, end, prot, pages, PMD_SHIFT, PAGE_SHIFT);
	else if (!err)
		err = __vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
	flush_cache_vmap(addr, end);

	return err;
}
