/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _VMAP_LIVE_INTERNAL_H
#define _VMAP_LIVE_INTERNAL_H

/*
 * Declarations in mm/ that a build against kernel headers lacks. The build uses this
 * file as mm/internal.h.
 */

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

/* The module has nothing of the step "phase". */
#define VMAP_PHASE	0

/* Its headers do not opt in, and its set_ptes() tests each PTE for an inverted PFN. */
#define ARCH_VMAP_BATCHES	1

static inline void live_set_ptes(struct mm_struct *mm, unsigned long addr, pte_t *ptep,
				 pte_t pte, unsigned long nr)
{
	if (unlikely(!(pte_flags(pte) & _PAGE_PRESENT))) {
		set_ptes(mm, addr, ptep, pte, nr);
		return;
	}
	for (; nr; nr--, ptep++, pte = __pte(pte_val(pte) + PAGE_SIZE))
		set_pte(ptep, pte);
}

#define arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift)	\
	live_set_ptes(mm, addr, ptep, pte, nr)

/* These are in mm/vmalloc.c, and no header outside mm/ declares them. */
int __vmap_pages_range_noflush(unsigned long addr, unsigned long end,
			       pgprot_t prot, struct page **pages,
			       unsigned int page_shift);
int vmap_range_noflush(unsigned long addr, unsigned long end,
		       phys_addr_t phys_addr, pgprot_t prot,
		       unsigned int max_page_shift);
struct vm_struct *__get_vm_area_node(unsigned long size, unsigned long align,
				     unsigned long shift, unsigned long flags,
				     unsigned long start, unsigned long end, int node,
				     gfp_t gfp_mask, const void *caller);

/* Return a table of the kernel, allocate it if there is none, and note the changed level. */
static inline p4d_t *p4d_alloc_track(struct mm_struct *mm, pgd_t *pgd,
				     unsigned long addr, pgtbl_mod_mask *mask)
{
	pgtbl_mod_mask made = pgd_none(*pgd) ? PGTBL_PGD_MODIFIED : 0;
	p4d_t *p4d = p4d_alloc(mm, pgd, addr);

	*mask |= p4d ? made : 0;
	return p4d;
}

static inline pud_t *pud_alloc_track(struct mm_struct *mm, p4d_t *p4d,
				     unsigned long addr, pgtbl_mod_mask *mask)
{
	pgtbl_mod_mask made = p4d_none(*p4d) ? PGTBL_P4D_MODIFIED : 0;
	pud_t *pud = pud_alloc(mm, p4d, addr);

	*mask |= pud ? made : 0;
	return pud;
}

static inline pmd_t *pmd_alloc_track(struct mm_struct *mm, pud_t *pud,
				     unsigned long addr, pgtbl_mod_mask *mask)
{
	pgtbl_mod_mask made = pud_none(*pud) ? PGTBL_PUD_MODIFIED : 0;
	pmd_t *pmd = pmd_alloc(mm, pud, addr);

	*mask |= pmd ? made : 0;
	return pmd;
}

static inline pte_t *pte_alloc_kernel_track(pmd_t *pmd, unsigned long addr,
					    pgtbl_mod_mask *mask)
{
	pgtbl_mod_mask made = pmd_none(*pmd) ? PGTBL_PMD_MODIFIED : 0;
	pte_t *pte = pte_alloc_kernel(pmd, addr);

	*mask |= pte ? made : 0;
	return pte;
}

/* The kernel's own functions, whether they are replaced or not, and their replacements. */
extern typeof(vmap) live_original_vmap, live_vmap;
extern typeof(__vmap_pages_range_noflush) live_original___vmap_pages_range_noflush;
extern typeof(__vmap_pages_range_noflush) live_vmap_blocks;
extern typeof(vmap_range_noflush) live_original_vmap_range_noflush;
extern typeof(vmap_range_noflush) live_vmap_range;

#endif /* _VMAP_LIVE_INTERNAL_H */
