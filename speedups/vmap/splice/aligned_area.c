// SPDX-License-Identifier: GPL-2.0-only
// The part of vmap_get_area() that has an alignment, in mm/vmalloc.c.

 * vmap_aligned_area - get an area, with an alignment if there is space
 * @size: size of the mapping
 * @align: its alignment, from vmap_align_for(); 0 if it does not matter
 * @flags: VM_MAP and other flags of the area
 * @caller: who asked for the mapping
 *
 * - If no address is aligned, lazily freed areas are purged, and then any address is used.
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

	if (align > PAGE_SIZE) {
		area = __get_vm_area_node(size, align, PAGE_SHIFT, flags,
					  VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
					  GFP_KERNEL | __GFP_NOWARN, caller);
		if (area)
			return area;
	}

	return get_vm_area_caller(size, flags, caller);
}

static_assert(VMAP_POOL_PAGES == MAX_VA_SIZE_PAGES);

/**
 * vmap_get_area - find address space for vmap()
