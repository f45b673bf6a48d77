/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* What mm/vmalloc.c shares with other files that map contiguous memory in batches. */

#include <linux/cacheflush.h>
#include <linux/kmsan.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgalloc.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include "internal.h"

#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/* Whether to map and unmap in batches. If not, the slow path does everything. */
static inline bool vmap_batches(void)
{
	return ARCH_VMAP_BATCHES;
}

/* vmalloc.c keeps freed areas of fewer pages (without the guard page) in pools by size. */
#define VMAP_POOL_PAGES	256UL

/* log2 of the size of a contiguous PTE block; PAGE_SHIFT if there is none. */
#define VMAP_GROUP_SHIFT	arch_vmap_pte_supported_shift(PMD_SIZE)

/* Size of the smallest leaf entry that is larger than a page. */
#define VMAP_LEAST	(arch_vmap_pte_supported_shift(PMD_SIZE) > PAGE_SHIFT ? \
			 BIT(VMAP_GROUP_SHIFT) : PMD_SIZE)

/*
 * The alignment of an area for memory that begins @lead bytes before a multiple of
 * @leaf; 0 if none helps.
 */
static inline unsigned long vmap_align_for(unsigned long leaf, unsigned long lead)
{
	return lead ? 0 : leaf;
}

/* mm/vmalloc.c */
bool vmap_may_be_huge(unsigned long size, unsigned long flags, pgprot_t prot);
struct vm_struct *vmap_aligned_area(unsigned long size, unsigned long align,
				    unsigned long flags, const void *caller);
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller);
int vmap_fill_area(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags);

#endif /* _MM_VMAP_INTERNAL_H */
