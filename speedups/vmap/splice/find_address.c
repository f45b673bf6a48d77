// SPDX-License-Identifier: GPL-2.0-only
// What the search for address space finds, in mm/vmalloc.c.

/**
 * vmap_find_address - find free address space at an offset from an aligned address
 * @size: size of the address space, with its guard page
 * @align: a power of two
 * @offset: a multiple of the page size, less than @align
 *
 * Nothing is allocated. When the caller asks for the address space, another CPU may
 * have got it. Free ranges that are larger than @size by less than @align and @offset
 * together are skipped, although some of them would fit.
 *
 * Context: process context.
 * Return: an address, or 0.
 */
unsigned long vmap_find_address(unsigned long size, unsigned long align,
				unsigned long offset)
{
	const unsigned long start = VMALLOC_START;
	struct vmap_area *va;
	unsigned long addr = 0;

	spin_lock(&free_vmap_area_lock);
	va = find_vmap_lowest_match(&free_vmap_area_root, size + offset, align,
				    start, true);
	if (va)
		addr = ALIGN(max(va->va_start, start), align) + offset;
	spin_unlock(&free_vmap_area_lock);

	return addr + size <= VMALLOC_END ? addr : 0;
}
