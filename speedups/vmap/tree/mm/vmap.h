/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_H
#define _MM_VMAP_H

/* What mm/vmalloc.c and mm/vmap.c are to each other. */

#include <linux/pgtable.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/* mm/vmap.c */
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller);
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages);
int vmap_map_blocks(unsigned long addr, unsigned long end, pgprot_t prot,
		    struct page **pages, unsigned int page_shift);
bool vmap_map_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot,
		    unsigned int max_page_shift, pgtbl_mod_mask *mask);

/* mm/vmap_method.c */
unsigned int vmap_steps(void);
int vmap_set_method(const char *name);
const char *vmap_method(void);

/* mm/vmalloc.c, for mm/vmap.c */
bool vmap_huge_allowed(void);
int vmap_try_huge_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		      phys_addr_t phys_addr, pgprot_t prot,
		      unsigned int max_page_shift);

#endif /* _MM_VMAP_H */
