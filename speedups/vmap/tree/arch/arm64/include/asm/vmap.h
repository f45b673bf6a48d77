/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_VMAP_H
#define _ASM_ARM64_VMAP_H

#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/page_table_check.h>
#include <linux/pfn.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

/*
 * Kernels that know groups of entries with the contiguous bit in vmalloc space
 * say so. Others would look at one entry of a group by itself.
 */
#ifdef arch_vmap_pte_range_unmap_size
#define ARCH_VMAP_GROUP_SHIFT	CONT_PTE_SHIFT
#endif

/*
 * The next page's entry is one page further, unless the address is spread over
 * the entry. User entries bring caches and tags with them.
 */
static __always_inline bool arch_vmap_plain(pte_t pte)
{
	return !IS_ENABLED(CONFIG_ARM64_PA_BITS_52) && pte_valid(pte) &&
	       !pte_user(pte);
}

/* set_ptes() takes each entry apart to make the next one. */
static __always_inline void arch_vmap_write(unsigned long addr, pte_t *ptep,
					    pte_t pte, unsigned long nr)
{
	pte_t *last = ptep + nr - 1;

	if (unlikely(!arch_vmap_plain(pte))) {
		set_ptes(&init_mm, addr, ptep, pte, nr);
		return;
	}

	vmap_table_check(addr, ptep, pte, nr);

	for (; last - ptep >= 4; ptep += 4) {
		__set_pte_nosync(ptep, pte);
		__set_pte_nosync(ptep + 1, __pte(pte_val(pte) + PAGE_SIZE));
		__set_pte_nosync(ptep + 2, __pte(pte_val(pte) + 2 * PAGE_SIZE));
		__set_pte_nosync(ptep + 3, __pte(pte_val(pte) + 3 * PAGE_SIZE));
		pte = __pte(pte_val(pte) + 4 * PAGE_SIZE);
	}
	for (; ptep != last; ptep++) {
		__set_pte_nosync(ptep, pte);
		pte = __pte(pte_val(pte) + PAGE_SIZE);
	}
	/* One barrier for all of them. */
	__set_pte(ptep, pte);
}

/*
 * Whole groups whose address and memory are aligned get the contiguous bit, any
 * number of them at once. None of the entries was valid before.
 */
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr,
					       unsigned int max_shift)
{
#ifdef ARCH_VMAP_GROUP_SHIFT
	unsigned long head = -(addr >> PAGE_SHIFT) % CONT_PTES, body;

	if (max_shift >= CONT_PTE_SHIFT && pte_valid(pte) &&
	    nr >= head + CONT_PTES &&
	    IS_ALIGNED(pte_pfn(pte) + head, CONT_PTES)) {
		body = ALIGN_DOWN(nr - head, CONT_PTES);
		if (head)
			arch_vmap_write(addr, ptep, pte, head);
		addr += head * PAGE_SIZE;
		ptep += head;
		nr -= head;
		pte = pte_advance_pfn(pte, head);
		arch_vmap_write(addr, ptep, pte_mkcont(pte), body);
		addr += body * PAGE_SIZE;
		ptep += body;
		nr -= body;
		pte = pte_advance_pfn(pte, body);
	}
	if (!nr)
		return;
#endif
	arch_vmap_write(addr, ptep, pte, nr);
}

#define arch_vmap_set_ptes	arch_vmap_set_ptes

#include <asm-generic/vmap.h>

#endif /* _ASM_ARM64_VMAP_H */
