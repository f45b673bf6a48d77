/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_VMAP_H
#define _ASM_GENERIC_VMAP_H

#include <linux/mm.h>
#include <linux/pgtable.h>

/*
 * arch_vmap_pte(page, prot, zero) is mk_pte(), for whoever has made the entry of
 * PFN 0 before.
 */
#ifndef arch_vmap_pte
static __always_inline pte_t arch_vmap_pte(struct page *page, pgprot_t prot, pte_t zero)
{
	return mk_pte(page, prot);
}
#endif

/*
 * arch_vmap_set_ptes(addr, ptep, pte, nr) maps @nr consecutive pages from that
 * of @pte on into init_mm. All entries are empty and in the same table.
 */
#ifndef arch_vmap_set_ptes
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr)
{
	set_ptes(&init_mm, addr, ptep, pte, nr);
}
#endif

/* Whether none of four entries is in use. */
#ifndef vmap_none4
static __always_inline bool vmap_none4(pte_t a, pte_t b, pte_t c, pte_t d)
{
	return pte_none(a) && pte_none(b) && pte_none(c) && pte_none(d);
}
#endif

#endif /* _ASM_GENERIC_VMAP_H */
