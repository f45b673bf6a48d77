/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_H
#define _MM_VMAP_H

/* Interfaces between mm/vmalloc.c and mm/vmap.c. */

#include <linux/align.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/types.h>
#include <linux/vmalloc.h>

/* mm/vmap.c */
unsigned long vmap_align_at_offset(unsigned long addr, unsigned long align);

/* The steps of the method that is chosen by vmap_set_method(). */
extern unsigned int vmap_chosen_steps;

/**
 * vmap_steps - get what is done in batches
 *
 * Return: a set of VMAP_RUNS, VMAP_PMD, VMAP_DETECT and VMAP_PHASE; 0 if the slow
 * path does everything, as always on an architecture without ARCH_VMAP_BATCHES.
 */
static inline unsigned int vmap_steps(void)
{
	return READ_ONCE(vmap_chosen_steps);
}

/*
 * The alignment of an area is a power of two. With VMAP_AT_OFFSET added, it is the
 * sum of a power of two and a smaller offset in whole pages, and the area begins at
 * that offset from a multiple of the power of two. For example, 2 MB + 28 KB +
 * VMAP_AT_OFFSET asks for an area that begins 28 KB after a multiple of 2 MB. No
 * caller passes such a value by mistake, because it is no power of two.
 */
#define VMAP_AT_OFFSET	2UL

/**
 * vmap_is_alignment - test whether an area can have an alignment
 * @align: the alignment
 *
 * Return: true for a power of two, and for the sum of a power of two, a smaller offset
 * of at least one page, and VMAP_AT_OFFSET.
 */
static inline bool vmap_is_alignment(unsigned long align)
{
	return is_power_of_2(align) ||
	       (offset_in_page(align) == VMAP_AT_OFFSET &&
		!is_power_of_2(align - VMAP_AT_OFFSET));
}

/**
 * vmap_align - get the next address that has an alignment
 * @addr: where to begin
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: the lowest address from @addr on that has the alignment.
 */
static inline unsigned long vmap_align(unsigned long addr, unsigned long align)
{
	if (likely(!(align & VMAP_AT_OFFSET)))
		return ALIGN(addr, align);

	return vmap_align_at_offset(addr, align);
}

/**
 * vmap_is_aligned - test whether an address has an alignment
 * @addr: the address
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: true if the address has the alignment.
 */
static inline bool vmap_is_aligned(unsigned long addr, unsigned long align)
{
	return vmap_align(addr, align) == addr;
}

/* mm/vmap.c */
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller);
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags);
int vmap_map_blocks(unsigned long addr, unsigned long end, pgprot_t prot,
		    struct page **pages, unsigned int page_shift);
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);
bool vmap_clear_ptes(pte_t *pte, unsigned long addr, unsigned long end);

/* mm/vmap_method.c */
int vmap_set_method(const char *name);
const char *vmap_method(void);

/* mm/vmalloc.c, for mm/vmap.c */
bool vmap_huge_allowed(void);
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);

#endif /* _MM_VMAP_H */
