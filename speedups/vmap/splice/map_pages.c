// SPDX-License-Identifier: GPL-2.0-only
// What comes before the function that maps arrays of pages, in mm/vmalloc.c.

/**
 * vmap_map_pages - map pages into a range of kernel address space
 * @addr: start of the mapping
 * @end: end of the mapping, after @addr
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known_shift: log2 of the size of the blocks in which the caller guarantees that the
 *	pages are contiguous and aligned; PAGE_SHIFT if it does not know
 *
 * - Page i of the array is mapped at @addr + i * PAGE_SIZE, however large the leaf
 *   entries are.
 * - Leaf entries larger than a page are used for contiguous pages only. Where they may
 *   be, the caller must unmap the whole mapping, or whole blocks of @known_shift.
 * - The caches are not flushed, and the shadow of KMSAN is not mapped.
 *
 * Context: with a @max_shift of PAGE_SHIFT, any in which vmalloc() may be called;
 * otherwise process context, may sleep.
 * Return: 0, or -ENOMEM, also if a page is invalid or a PTE is in use. After an error,
 * a part of the pages may be mapped.
 */
