// SPDX-License-Identifier: GPL-2.0-only
// Write the PTEs of contiguous memory together, in mm/vmalloc.c.

/*
 * An architecture opts in to batches in its asm/vmalloc.h. For any other one, nobody has
 * checked that a PTE maps one page, that set_ptes() does not need the folio of a page, and
 * that a plain write to a PTE is allowed while CPUs may be using it. It needs
 * SPARSEMEM_VMEMMAP, with which pages that are adjacent in the memmap are adjacent in memory.
 */
#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/* Maps @nr pages as set_ptes() does, with leaf entries of at most 1 << @max_shift bytes. */
#ifndef arch_vmap_set_ptes
#define arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift)	\
	set_ptes(mm, addr, ptep, pte, nr)
#endif

/* Whether to map and unmap in batches. If not, the slow path does everything. */
static inline bool vmap_batches(void)
{
	return ARCH_VMAP_BATCHES;
}

static __always_inline bool vmap_ptes_none(pte_t *pte, unsigned long nr)
{
	/* One branch for four: & makes compilers combine the tests. */
	for (; nr >= 4; nr -= 4, pte += 4) {
		if (!(pte_none(ptep_get(pte)) & pte_none(ptep_get(pte + 1)) &
		      pte_none(ptep_get(pte + 2)) & pte_none(ptep_get(pte + 3))))
			return false;
	}
	for (; nr; nr--, pte++) {
		if (!pte_none(ptep_get(pte)))
			return false;
	}

	return true;
}

/**
 * vmap_map_range - map contiguous physical addresses with one table of PTEs
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 * @phys_addr: first physical address, with or without a struct page
 * @prot: protection bits of the mapping
 * @max_shift: log2 of the size of the largest leaf entry allowed
 *
 * Context: any.
 * Return: true if all pages are mapped. If false, no page is mapped, and the slow
 * path reports the reason.
 */
static noinline bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
				    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_shift)
{
	unsigned long nr = (end - addr) >> PAGE_SHIFT;

	if (!vmap_ptes_none(pte, nr))
		return false;

	lazy_mmu_mode_enable();
	arch_vmap_set_ptes(&init_mm, addr, pte, pfn_pte(PHYS_PFN(phys_addr), prot), nr,
			   max_shift);
	lazy_mmu_mode_disable();

	return true;
}
