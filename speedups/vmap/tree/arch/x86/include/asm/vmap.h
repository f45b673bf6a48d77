/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_X86_VMAP_H
#define _ASM_X86_VMAP_H

#include <linux/mm.h>
#include <linux/pgtable.h>

#ifdef CONFIG_X86_64
#define ARCH_VMAP_BATCHES	1
#endif

/* pte_none() tests a mask of bits, so it can test the bits of four PTEs at once. */
static __always_inline bool arch_vmap_none4(pte_t a, pte_t b, pte_t c, pte_t d)
{
	a.pte |= b.pte | c.pte | d.pte;
	return pte_none(a);
}

#define arch_vmap_none4	arch_vmap_none4

/*
 * The PFN of a present PTE can be added to its other bits. The PFN of a PTE that is
 * not present may be stored inverted.
 */
static __always_inline pte_t arch_vmap_pte(struct page *page, unsigned long pfn,
					   pgprot_t prot, pte_t zero)
{
	if (unlikely(!(pte_flags(zero) & _PAGE_PRESENT)))
		return mk_pte(page, prot);
	return __pte(pte_val(zero) + PFN_PHYS(pfn));
}

#define arch_vmap_pte	arch_vmap_pte

/* Faster than set_ptes(), which tests each PTE for an inverted PFN. */
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr,
					       unsigned int max_shift)
{
	if (unlikely(!(pte_flags(pte) & _PAGE_PRESENT))) {
		set_ptes(&init_mm, addr, ptep, pte, nr);
		return;
	}

	for (; nr >= 4; nr -= 4, ptep += 4) {
		set_pte(ptep, pte);
		set_pte(ptep + 1, __pte(pte_val(pte) + PAGE_SIZE));
		set_pte(ptep + 2, __pte(pte_val(pte) + 2 * PAGE_SIZE));
		set_pte(ptep + 3, __pte(pte_val(pte) + 3 * PAGE_SIZE));
		pte = __pte(pte_val(pte) + 4 * PAGE_SIZE);
	}
	for (; nr; nr--, ptep++) {
		set_pte(ptep, pte);
		pte = __pte(pte_val(pte) + PAGE_SIZE);
	}
}

#define arch_vmap_set_ptes	arch_vmap_set_ptes

/* A bit that all four PTEs have in common makes all of them present. */
static __always_inline bool arch_vmap_clear4(unsigned long addr, pte_t *ptep)
{
	pte_t all = ptep_get(ptep);

	all.pte &= ptep_get(ptep + 1).pte & ptep_get(ptep + 2).pte & ptep_get(ptep + 3).pte;
	if (!pte_present(all))
		return false;

	pte_clear(&init_mm, addr, ptep);
	pte_clear(&init_mm, addr + PAGE_SIZE, ptep + 1);
	pte_clear(&init_mm, addr + 2 * PAGE_SIZE, ptep + 2);
	pte_clear(&init_mm, addr + 3 * PAGE_SIZE, ptep + 3);

	return true;
}

#define arch_vmap_clear4	arch_vmap_clear4

#include <asm-generic/vmap.h>

#endif /* _ASM_X86_VMAP_H */
