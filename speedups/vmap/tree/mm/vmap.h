/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_H
#define _MM_VMAP_H

/* Interfaces between mm/vmalloc.c and the files that map in batches. */

#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/*
 * An architecture opts in to batches in its asm/vmalloc.h. For any other one, nobody
 * has checked that a PTE maps one page, that set_ptes() does not need the folio of a
 * page, and that a plain write to a PTE is allowed while CPUs may be using it.
 */
#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/* Whether to map and unmap in batches. If not, the slow path does everything. */
static inline bool vmap_batches(void)
{
	return ARCH_VMAP_BATCHES;
}

/* For this many pages or fewer, looking for runs takes at least as long as it saves. */
#define VMAP_FEW_PAGES	7UL

/* vmalloc.c keeps freed areas of fewer pages (without the guard page) in pools by size. */
#define VMAP_POOL_PAGES	256UL

/* mm/vmap.c */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned int max_shift, unsigned int known_shift);
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);

/* mm/vmap_unmap.c */
bool vmap_clear_ptes(pte_t *pte, unsigned long addr, unsigned long end);

/* mm/vmap_area.c */
struct vm_struct *vmap_aligned_area(unsigned long size, unsigned long align,
				    unsigned long flags, const void *caller);
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller);
int vmap_fill_area(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags);

/* mm/vmalloc.c, for the files above */
bool vmap_huge_allowed(void);
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);

#endif /* _MM_VMAP_H */
