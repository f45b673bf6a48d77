// SPDX-License-Identifier: GPL-2.0-only
// set_ptes() of x86, in its asm/pgtable.h.

/* Four PTEs at a time, unless their PFNs are inverted. */
static inline void set_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
			    pte_t pte, unsigned int nr)
{
	page_table_check_ptes_set(mm, addr, ptep, pte, nr);

	if (nr >= 4 && !__pte_needs_invert(pte_val(pte))) {
		for (; nr >= 4; nr -= 4, ptep += 4) {
			pteval_t val = pte_val(pte);

			set_pte(ptep, pte);
			set_pte(ptep + 1, __pte(val + PAGE_SIZE));
			set_pte(ptep + 2, __pte(val + 2 * PAGE_SIZE));
			set_pte(ptep + 3, __pte(val + 3 * PAGE_SIZE));
			pte = __pte(val + 4 * PAGE_SIZE);
		}
	}
	for (; nr; nr--, ptep++, pte = pte_advance_pfn(pte, 1))
		set_pte(ptep, pte);
}

#define set_ptes set_ptes
