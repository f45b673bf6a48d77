/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_VMAP_H
#define _ASM_GENERIC_VMAP_H

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

/*
 * 1 if this architecture maps in batches. By default it is 0, and the slow path does
 * everything: on an architecture that nobody has reviewed for this, a PTE may map
 * more than a page, or set_ptes() may need the folio of a page.
 */
#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/*
 * log2 of the size of a contiguous PTE block, called a group here: aligned PTEs that
 * take one TLB entry. PAGE_SHIFT if this architecture has no such blocks.
 */
#ifndef ARCH_VMAP_GROUP_SHIFT
#define ARCH_VMAP_GROUP_SHIFT	PAGE_SHIFT
#endif

/*
 * arch_vmap_pte(page, pfn, prot, zero) returns mk_pte(page, prot). It may be faster,
 * because the caller passes the PFN of @page, and the PTE of PFN 0 with @prot.
 */
#ifndef arch_vmap_pte
static __always_inline pte_t arch_vmap_pte(struct page *page, unsigned long pfn,
					   pgprot_t prot, pte_t zero)
{
	return mk_pte(page, prot);
}
#endif

/*
 * arch_vmap_set_ptes(addr, ptep, pte, nr, max_shift) maps @nr contiguous pages from
 * the page of @pte on into init_mm, with leaf entries of at most 1 << @max_shift
 * bytes. All PTEs are in the same table, and none is in use. The pages may belong to
 * several folios or to none. set_ptes() does not allow that in general, so each
 * architecture that maps in batches must be checked for it.
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
 * arch_vmap_clear4(addr, ptep) clears four PTEs of a table and returns true, if each is
 * present and maps one page. Otherwise it returns false and changes nothing, as it may
 * always do.
 */
#ifndef arch_vmap_clear4
static __always_inline bool arch_vmap_clear4(unsigned long addr, pte_t *ptep)
{
	return false;
}
#endif

/*
 * arch_vmap_clear_group(ptep, nr) clears the @nr PTEs of a group and returns true, or
 * returns false and changes nothing.
 */
#ifndef arch_vmap_clear_group
static __always_inline bool arch_vmap_clear_group(pte_t *ptep, unsigned long nr)
{
	return false;
}
#endif

/* Whether pte_none() is true for all four PTEs. */
#ifndef arch_vmap_none4
static __always_inline bool arch_vmap_none4(pte_t a, pte_t b, pte_t c, pte_t d)
{
	return pte_none(a) && pte_none(b) && pte_none(c) && pte_none(d);
}
#endif

/* The same for eight PTEs of a table, if that is faster. It may always return false. */
#ifndef arch_vmap_none8
static __always_inline bool arch_vmap_none8(const pte_t *ptep)
{
	return false;
}
#endif

/* Whether pages[i] == page + i for eight pages. It may always return false. */
#ifndef arch_vmap_follow8
static __always_inline bool arch_vmap_follow8(struct page **pages, struct page *page)
{
	return false;
}
#endif

#endif /* _ASM_GENERIC_VMAP_H */
