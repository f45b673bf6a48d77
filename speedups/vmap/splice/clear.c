// SPDX-License-Identifier: GPL-2.0-only
// Clear PTEs without an atomic exchange for each, in mm/vmalloc.c.

/*
 * Clear four PTEs, or those of a contiguous PTE block, if they are present and before @end.
 * @size becomes that of the block.
 *
 * The accessed and dirty bits are not collected, because mappings of the kernel do not use them.
 * That is why no exchange is needed: the CPU sets these bits in a valid PTE only, and atomically,
 * so it makes no cleared PTE valid again.
 */
static __always_inline bool vmap_clear(pte_t *pte, unsigned long addr, unsigned long end,
				       unsigned long *size)
{
	/* A contiguous PTE block is cleared as a whole. */
	if (arch_vmap_pte_supported_shift(PMD_SIZE) > PAGE_SHIFT) {
		*size = max(*size, arch_vmap_pte_range_unmap_size(addr, pte));
		if (end - addr < *size || !IS_ALIGNED(addr, *size))
			return false;
	}

	/* One branch for four, as in vmap_ptes_none(). */
	if (!(pte_present(ptep_get(pte)) & pte_present(ptep_get(pte + 1)) &
	      pte_present(ptep_get(pte + 2)) & pte_present(ptep_get(pte + 3))))
		return false;

	end = addr + *size;
	do {
		pte_clear(&init_mm, addr, pte);
		pte_clear(&init_mm, addr + PAGE_SIZE, pte + 1);
		pte_clear(&init_mm, addr + 2 * PAGE_SIZE, pte + 2);
		pte_clear(&init_mm, addr + 3 * PAGE_SIZE, pte + 3);
	} while (pte += 4, addr += 4 * PAGE_SIZE, addr != end);

	return true;
}
