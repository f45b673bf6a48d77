// SPDX-License-Identifier: GPL-2.0-only
// pte_next_special() of x86, in its asm/pgtable.h.

static inline pte_t pte_next_special(pte_t pte, unsigned long pfn, pgprot_t prot)
{
	return pte_advance_pfn(pte, 1);
}

#define pte_next_special	pte_next_special
