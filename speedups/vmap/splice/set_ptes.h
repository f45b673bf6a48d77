// SPDX-License-Identifier: GPL-2.0-only
// set_ptes() of x86, in its asm/pgtable.h.

static inline void set_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			    pte_t pte, unsigned int nr)
{
	page_table_check_ptes_set(mm, addr, ptep, pte, nr);

	if (!__pte_needs_invert(pte_val(pte))) {
		unrolled_count(4)
		for (; nr; nr--, ptep++, pte = __pte(pte_val(pte) + PAGE_SIZE))
			set_pte(ptep, pte);
	}
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1))
		set_pte(ptep, pte);
}

#define set_ptes set_ptes
