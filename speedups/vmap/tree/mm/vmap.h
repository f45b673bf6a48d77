/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_H
#define _MM_VMAP_H

/* Interfaces between mm/vmalloc.c and the files that map in batches. */

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

/*
 * An architecture opts in to batches in its asm/vmalloc.h. For any other one, nobody
 * has checked that a PTE maps one page, that set_ptes() does not need the folio of a
 * page, and that a plain write to a PTE is allowed while CPUs may be using it. It needs
 * SPARSEMEM_VMEMMAP, with which pages that are adjacent in the memmap are adjacent in memory.
 */
#ifndef ARCH_VMAP_BATCHES
#define ARCH_VMAP_BATCHES	0
#endif

/* Whether to map and unmap in batches. If not, the slow path does everything. */
static inline bool vmap_batches(void)
{
	return ARCH_VMAP_BATCHES;
}

/*
 * Shorter runs are mapped as single pages. Where their lengths are random, CPUs mispredict
 * their ends, which takes longer than mapping them together saves.
 */
#define VMAP_RUN_MIN	8UL

/*
 * Whether pages that are contiguous in the memmap are valid. Only a pointer that is no page is
 * not, which is a bug of the caller. So only kernels for debugging ask.
 */
static __always_inline bool vmap_pages_valid(unsigned long pfn, unsigned long nr)
{
	for (; IS_ENABLED(CONFIG_DEBUG_VM) && nr; nr--, pfn++) {
		if (!pfn_valid(pfn))
			return false;
	}

	return true;
}

/**
 * struct vmap_walk - state of a walk that may use leaf entries larger than a page
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known_shift: the caller guarantees that aligned blocks of the array of this size
 *	(as log2) are contiguous and aligned in memory
 * @run: number of contiguous pages that come next, or 0 if not counted yet
 */
struct vmap_walk {
	unsigned int max_shift;
	unsigned int known_shift;
	unsigned long run;
};

/* mm/vmap.c */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned int max_shift, unsigned int known_shift);
bool vmap_prepare_pmd(struct vmap_walk *walk, struct page **pages, pmd_t *pmd);
unsigned long vmap_map_batch(struct vmap_walk *walk, struct page **pages, pgprot_t prot,
			     pte_t *pte, unsigned long addr, unsigned long end);
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);

/* mm/vmalloc.c, for the files above */
int vmap_walk_pages_noflush(unsigned long addr, unsigned long end, pgprot_t prot,
			    struct page **pages, struct vmap_walk *walk);

/* Whether a leaf entry can map the pages that come next. */
static inline bool vmap_prepare_block(struct vmap_walk *walk, struct page **pages, pmd_t *pmd,
				      unsigned long addr, unsigned long end)
{
	if (likely(!walk))
		return false;

	walk->run = 0;
	return walk->max_shift >= PMD_SHIFT && end - addr >= PMD_SIZE &&
	       IS_ALIGNED(addr, PMD_SIZE) && vmap_prepare_pmd(walk, pages, pmd);
}

/*
 * Map as many pages as possible by the PTEs of one table, and advance @nr, @pte and @addr.
 *
 * Return: true if all are mapped. If false, the caller must map the rest one at a time,
 * which finds what is wrong with a page or its PTE.
 */
static __always_inline bool vmap_try_batch(struct vmap_walk *walk, struct page **pages, int *nr,
					   pgprot_t prot, pte_t **pte, unsigned long *addr,
					   unsigned long end)
{
	unsigned long batch;

	/* Most mappings have few pages. Without the hint, some compilers make those slower. */
	if (likely(end - *addr < VMAP_RUN_MIN * PAGE_SIZE) || !vmap_batches())
		return false;

	batch = vmap_map_batch(walk, pages + *nr, prot, *pte, *addr, end);
	*nr += batch;
	*pte += batch;
	*addr += batch * PAGE_SIZE;

	return *addr == end;
}

#endif /* _MM_VMAP_H */
