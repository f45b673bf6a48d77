/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_VMAP_H
#define _ASM_GENERIC_VMAP_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

/*
 * Whether to map in batches; an architecture has to ask for it, by 1. All is left
 * to the slow path of those that have not been looked at: one PTE may map more
 * than a page there, which batches would lose, or set_ptes() may mind pages that
 * are of no folio.
 */
#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/* Size of a group of PTEs that is one leaf to the CPU, where there is such. */
#ifndef ARCH_VMAP_GROUP_SHIFT
#define ARCH_VMAP_GROUP_SHIFT	PAGE_SHIFT
#endif

/*
 * arch_vmap_pte(page, pfn, prot, zero) is mk_pte(page, prot), for whoever has
 * the PFN, and has made the entry of PFN 0 before.
 */
#ifndef arch_vmap_pte
static __always_inline pte_t arch_vmap_pte(struct page *page, unsigned long pfn,
					   pgprot_t prot, pte_t zero)
{
	return mk_pte(page, prot);
}
#endif

/*
 * arch_vmap_set_ptes(addr, ptep, pte, nr, max_shift) maps @nr consecutive pages
 * from that of @pte on into init_mm, with none larger than @max_shift. All
 * entries are empty and in the same table. The pages need be of no folio, or of
 * several: this will do where set_ptes() does not care, although it may.
 */
#ifndef arch_vmap_set_ptes
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr,
					       unsigned int max_shift)
{
	set_ptes(&init_mm, addr, ptep, pte, nr);
}
#endif

/*
 * arch_vmap_clear_group(ptep, nr) empties the @nr entries of a group, or says
 * that it can't, and leaves them.
 */
#ifndef arch_vmap_clear_group
static __always_inline bool arch_vmap_clear_group(pte_t *ptep, unsigned long nr)
{
	return false;
}
#endif

/* arch_vmap_none4() tells whether none of four entries is in use. */
#ifndef arch_vmap_none4
static __always_inline bool arch_vmap_none4(pte_t a, pte_t b, pte_t c, pte_t d)
{
	return pte_none(a) && pte_none(b) && pte_none(c) && pte_none(d);
}
#endif

/* The same for eight in memory, where that is faster; else it never says so. */
#ifndef arch_vmap_none8
static __always_inline bool arch_vmap_none8(const pte_t *ptep)
{
	return false;
}
#endif

/* Whether eight pages follow each other, from @page on; it may never say so. */
#ifndef arch_vmap_follow8
static __always_inline bool arch_vmap_follow8(struct page **pages, struct page *page)
{
	return false;
}
#endif

#endif /* _ASM_GENERIC_VMAP_H */
