/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* Shared by the files that map contiguous memory in batches. */

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgalloc.h>
#include <linux/pgtable.h>
#include <linux/unroll.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "vmap.h"

/*
 * log2 of the size of a contiguous PTE block, called a group here: aligned PTEs that
 * take one TLB entry. PAGE_SHIFT if this architecture has no such blocks; one that has
 * them and opts in to batches must define it.
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

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

#endif /* _MM_VMAP_INTERNAL_H */
