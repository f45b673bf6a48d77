/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* Shared by vmap.c, vmap_method.c, vmap_sgt.c, the KUnit tests and the benchmark. */

#include <linux/align.h>
#include <linux/bitmap.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/cacheflush.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kmsan.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "pgalloc-track.h"
#include "vmap.h"
#include "vmap_compat.h"

#include <asm/vmap.h>

/*
 * What is done in batches; a method is a set of these.
 *
 * VMAP_RUNS	write the PTEs of contiguous pages together
 * VMAP_PMD	let vmap() use huge PMD mappings, and align areas for them
 * VMAP_DETECT	look at the last page of a possible PMD block before all others
 * VMAP_PHASE	let vmap() place an area at the same offset from a multiple of PMD_SIZE
 *		as its memory
 */
#define VMAP_RUNS	BIT(0)
#define VMAP_PMD	BIT(1)
#define VMAP_DETECT	BIT(2)
#ifndef VMAP_PHASE
#define VMAP_PHASE	BIT(3)
#endif

/* Size of the smallest leaf entry that is larger than a page. */
#define VMAP_LEAST	(ARCH_VMAP_GROUP_SHIFT - PAGE_SHIFT ? \
			 BIT(ARCH_VMAP_GROUP_SHIFT) : PMD_SIZE)

/* vmalloc.c keeps freed areas of fewer pages (without the guard page) in pools by size. */
#define VMAP_POOL_PAGES	256UL

/*
 * Whether a mapping of vmap() may have leaf entries that are larger than a page.
 *
 * - An area that owns its pages may not, because vrealloc() may unmap and free its
 *   last pages.
 * - riscv may not, because set_memory_*() of one page changes all of a leaf entry.
 */
static inline bool vmap_may_be_huge(unsigned int steps, unsigned long flags, pgprot_t prot)
{
	return (steps & VMAP_PMD) && !(flags & VM_MAP_PUT_PAGES) &&
	       !IS_ENABLED(CONFIG_RISCV) &&
	       vmap_huge_allowed() && arch_vmap_pmd_supported(prot);
}

#endif /* _MM_VMAP_INTERNAL_H */
