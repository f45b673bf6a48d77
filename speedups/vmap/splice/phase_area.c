// SPDX-License-Identifier: GPL-2.0-only
// An area at an offset from an aligned address, in mm/vmap_area.c.

/*
 * Get an area at an offset from an aligned address, or NULL. The highest bit of @align is the
 * alignment, and the rest is the offset. One CPU at a time looks for an address, because
 * another one would find the same.
 */
static struct vm_struct *vmap_area_at_offset(unsigned long size, unsigned long align,
					     unsigned long flags, const void *caller)
{
	unsigned long unit = rounddown_pow_of_two(align), start;
	struct vm_struct *area = NULL;
	static unsigned long busy;

	/* vmalloc.c aligns areas with VM_IOREMAP by their size. */
	if ((flags & VM_IOREMAP) || test_and_set_bit_lock(0, &busy))
		return NULL;

	start = vmap_find_address(size + PAGE_SIZE, unit, align - unit);
	/* The area and its guard page fill the range. If it was taken meanwhile, do not wait. */
	if (start)
		area = __get_vm_area_node(size, PAGE_SIZE, PAGE_SHIFT, flags, start,
					  start + size + PAGE_SIZE, NUMA_NO_NODE,
					  GFP_NOWAIT | __GFP_NOWARN, caller);
	clear_bit_unlock(0, &busy);

	return area;
}
