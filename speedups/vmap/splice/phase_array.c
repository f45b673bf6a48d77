// SPDX-License-Identifier: GPL-2.0-only
// For a run that begins before the block, an alignment and an area, in mm/vmalloc.c.

static unsigned long vmap_array_align(struct page **pages, unsigned long size, unsigned int shift)
{
	unsigned long nr = 1UL << (shift - PAGE_SHIFT), lead, align;

	if (!pages[0])
		return 0;
	lead = -page_to_pfn(pages[0]) % nr;
	align = vmap_align_for(nr * PAGE_SIZE, lead * PAGE_SIZE);
	if (!align || size >> PAGE_SHIFT < lead + nr || pages[lead] != pages[0] + lead)
		return 0;
	lead += nr - 1;

	return pages[lead] == pages[0] + lead ? align : 0;
}

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
