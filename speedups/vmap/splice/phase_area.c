// SPDX-License-Identifier: GPL-2.0-only
// An area at an offset from an aligned address, in mm/vmap_area.c.

/*
 * Get an area at an aligned address, or NULL. What @align has beside its highest bit
 * is the offset from a multiple of that bit.
 */
static struct vm_struct *vmap_area_at_offset(unsigned long size, unsigned long align,
					     unsigned long flags, const void *caller)
{
	unsigned long unit = rounddown_pow_of_two(align), offset = align - unit;
	unsigned long start = VMALLOC_START, end = VMALLOC_END;

	if (offset) {
		start = vmap_find_address(size + PAGE_SIZE, unit, offset);
		if (!start)
			return NULL;
		/* With the guard page, nothing else fits. */
		end = start + size + PAGE_SIZE;
		unit = PAGE_SIZE;
	}

	return __get_vm_area_node(size, unit, PAGE_SHIFT, flags, start, end, NUMA_NO_NODE,
				  GFP_NOWAIT, caller);
}

