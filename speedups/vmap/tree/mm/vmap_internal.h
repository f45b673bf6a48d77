/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* Shared by the files that map contiguous memory in batches. */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/cacheflush.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kmsan.h>
#include <linux/list.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include <asm/pgalloc.h>

#include "internal.h"
#include "pgalloc-track.h"
#include "vmap.h"
#include "vmap_compat.h"

/*
 * log2 of the size of a contiguous PTE block, called a group here: aligned PTEs that
 * take one TLB entry. PAGE_SHIFT if this architecture has no such blocks, or leaves
 * them to the slow path.
 */
#ifndef ARCH_VMAP_GROUP_SHIFT
#define ARCH_VMAP_GROUP_SHIFT	PAGE_SHIFT
#endif

/*
 * arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift) maps @nr contiguous pages from
 * the page of @pte on into init_mm, with leaf entries of at most 1 << @max_shift
 * bytes. All PTEs are in the same table, and none is in use. The pages may belong to
 * several folios or to none. set_ptes() does not allow that in general, so each
 * architecture that maps in batches must be checked for it.
 */
#ifndef arch_vmap_set_ptes
#define arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift)	\
	set_ptes(mm, addr, ptep, pte, nr)
#endif

/*
 * arch_vmap_clear_group(ptep, nr) clears the @nr PTEs of a group and returns true, or
 * returns false and changes nothing.
 */
#ifndef arch_vmap_clear_group
#define arch_vmap_clear_group(ptep, nr)	false
#endif

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

/* Size of the smallest leaf entry that is larger than a page. */
#define VMAP_LEAST	(ARCH_VMAP_GROUP_SHIFT - PAGE_SHIFT ? \
			 BIT(ARCH_VMAP_GROUP_SHIFT) : PMD_SIZE)

/* vmalloc.c keeps freed areas of fewer pages (without the guard page) in pools by size. */
#define VMAP_POOL_PAGES	256UL

/*
 * Whether a mapping of vmap() may have leaf entries that are larger than a page. An area
 * that owns its pages may not, because vrealloc() may unmap and free its last pages.
 */
static inline bool vmap_may_be_huge(unsigned long flags, pgprot_t prot)
{
	return vmap_batches() && vmap_huge_allowed() &&
	       arch_vmap_pmd_supported(prot) && !(flags & VM_MAP_PUT_PAGES);
}

/*
 * The alignment of an area for memory that begins @lead bytes before a multiple of
 * @leaf; 0 if none helps.
 */
static inline unsigned long vmap_align_for(unsigned long leaf, unsigned long lead)
{
	return lead ? 0 : leaf;
}

#endif /* _MM_VMAP_INTERNAL_H */
