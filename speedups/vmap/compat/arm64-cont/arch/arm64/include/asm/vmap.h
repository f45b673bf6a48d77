/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_VMAP_H
#define _ASM_ARM64_VMAP_H

#include <linux/align.h>
#include <linux/pgtable.h>

/*
 * Groups of CONT_PTES entries get the contiguous bit where address and memory
 * are aligned to them, as many groups as there are. Not by way of set_ptes(),
 * which keeps that bit for user space, nor of HugeTLB, which may be absent.
 */
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr,
					       unsigned int max_shift)
{
	unsigned long head = (ALIGN(addr, CONT_PTE_SIZE) - addr) >> PAGE_SHIFT;
	unsigned long groups;

	if (max_shift >= CONT_PTE_SHIFT && nr >= head + CONT_PTES &&
	    !((addr ^ PFN_PHYS(pte_pfn(pte))) & ~CONT_PTE_MASK)) {
		if (head) {
			__set_ptes(&init_mm, addr, ptep, pte, head);
			addr += head * PAGE_SIZE;
			ptep += head;
			pte = pte_advance_pfn(pte, head);
			nr -= head;
		}
		groups = ALIGN_DOWN(nr, CONT_PTES);
		__set_ptes(&init_mm, addr, ptep, pte_mkcont(pte), groups);
		addr += groups * PAGE_SIZE;
		ptep += groups;
		pte = pte_advance_pfn(pte, groups);
		nr -= groups;
	}
	if (nr)
		__set_ptes(&init_mm, addr, ptep, pte, nr);
}

#define arch_vmap_set_ptes	arch_vmap_set_ptes

#include <asm-generic/vmap.h>

#endif /* _ASM_ARM64_VMAP_H */
