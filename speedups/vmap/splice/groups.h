// SPDX-License-Identifier: GPL-2.0-only
// Opts arm64 in, with its contiguous PTE blocks, in its asm/vmalloc.h.

#ifdef CONFIG_SPARSEMEM_VMEMMAP
#define ARCH_VMAP_BATCHES	1
#endif

/* Write @val, @val + @step and so on. */
static inline void arch_vmap_write(pte_t *ptep, pteval_t val, unsigned long nr,
				   unsigned long step)
{
	/* Unrolled, because a loop takes as many instructions as what is in it. */
	for (; nr >= 4; nr -= 4, ptep += 4, val += 4 * step) {
		__set_pte_nosync(ptep, __pte(val));
		__set_pte_nosync(ptep + 1, __pte(val + step));
		__set_pte_nosync(ptep + 2, __pte(val + 2 * step));
		__set_pte_nosync(ptep + 3, __pte(val + 3 * step));
	}
	for (; nr; nr--, ptep++, val += step)
		__set_pte_nosync(ptep, __pte(val));
}

/*
 * Set the contiguous bit in all blocks whose virtual and physical address are aligned.
 * No break-before-make is needed, because none of the PTEs was valid. PTEs of processes
 * need cache and tag maintenance, and bits 48 and up of an address lie elsewhere in a
 * PTE, so set_ptes() handles both.
 */
#define arch_vmap_set_ptes arch_vmap_set_ptes
static inline void arch_vmap_set_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
				      pte_t pte, unsigned long nr, unsigned int max_shift)
{
	unsigned long head = -(addr >> PAGE_SHIFT) % CONT_PTES, body = 0;
	unsigned long pfn = pte_pfn(pte);
	pteval_t val = pte_val(pte);

	if (!pte_valid(pte) || pte_user(pte) || (pfn ^ (pfn + nr - 1)) >> (48 - PAGE_SHIFT)) {
		set_ptes(mm, addr, ptep, pte, nr);
		return;
	}

	if (max_shift >= CONT_PTE_SHIFT && nr >= head && (pfn + head) % CONT_PTES == 0)
		body = (nr - head) / CONT_PTES * CONT_PTES;
	if (!body)
		head = nr;
	arch_vmap_write(ptep, val, head, PAGE_SIZE);
	arch_vmap_write(ptep + head, (val + head * PAGE_SIZE) | PTE_CONT, body, PAGE_SIZE);
	head += body;
	arch_vmap_write(ptep + head, val + head * PAGE_SIZE, nr - head, PAGE_SIZE);
	/* One barrier is enough for all. */
	__set_pte_complete(pte);
}
