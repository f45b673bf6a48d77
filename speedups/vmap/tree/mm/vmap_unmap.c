// SPDX-License-Identifier: GPL-2.0-only
/* Unmap kernel address space without an atomic exchange for each PTE. */

#include "vmap_internal.h"

static __always_inline bool vmap_is_present(pte_t *pte)
{
	return pte_present(ptep_get(pte));
}

/* Clear four PTEs, if each is present. One branch for four, as in vmap_ptes_none(). */
static __always_inline bool vmap_clear4(pte_t *pte, unsigned long addr)
{
	/* Contiguous PTE blocks must be cleared as a whole. */
	if (ARCH_VMAP_GROUP_SHIFT > PAGE_SHIFT)
		return false;
	if (!(vmap_is_present(pte) & vmap_is_present(pte + 1) &
	      vmap_is_present(pte + 2) & vmap_is_present(pte + 3)))
		return false;

	pte_clear(&init_mm, addr, pte);
	pte_clear(&init_mm, addr + PAGE_SIZE, pte + 1);
	pte_clear(&init_mm, addr + 2 * PAGE_SIZE, pte + 2);
	pte_clear(&init_mm, addr + 3 * PAGE_SIZE, pte + 3);

	return true;
}

/**
 * vmap_clear_ptes - clear PTEs of one table
 * @pmd: the PMD entry that points to the table
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 *
 * - Some may be clear already, such as the one of the guard page.
 * - Stops at a PTE that is in use but not present, and at a contiguous PTE block that
 *   is not mapped as a whole. The slow path must clear what is left, and report it.
 * - The accessed and dirty bits are not collected, because mappings of the kernel do
 *   not use them. That is why no exchange is needed: the CPU sets these bits in a
 *   valid PTE only, and atomically, so it makes no cleared PTE valid again.
 * - The TLB is not flushed.
 *
 * An architecture that sets ARCH_VMAP_BATCHES must allow a plain write to a PTE that
 * CPUs may be using. Nothing else may change PTEs of the range meanwhile.
 *
 * Context: any.
 * Return: true if all PTEs are cleared.
 */
bool vmap_clear_ptes(pmd_t *pmd, unsigned long addr, unsigned long end)
{
	pte_t *pte = pte_offset_kernel(pmd, addr), old;
	unsigned long size;

	lazy_mmu_mode_enable();
	for (; addr != end; addr += size, pte += size >> PAGE_SHIFT) {
		size = 4 * PAGE_SIZE;
		if (end - addr >= size && vmap_clear4(pte, addr))
			continue;
		size = PAGE_SIZE;
		old = ptep_get(pte);
		if (pte_none(old))
			continue;
		if (!pte_present(old))
			break;
		size = arch_vmap_pte_range_unmap_size(addr, pte);
		if (size == PAGE_SIZE)
			pte_clear(&init_mm, addr, pte);
		else if (!IS_ALIGNED(addr, size) || end - addr < size ||
			 !arch_vmap_clear_group(pte, size >> PAGE_SHIFT))
			break;
	}
	lazy_mmu_mode_disable();

	return addr == end;
}
