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

/*
 * Shorter runs are mapped as single pages. Where their lengths are random, CPUs mispredict
 * their ends, which takes longer than mapping them together saves.
 */
#define VMAP_RUN_MIN	8UL

/*
 * In an aligned block of VMAP_UNIT pages, pfn_valid() is the same for all pages, and
 * pages that are adjacent in memory are adjacent in the memmap. The architectures
 * that map in batches use sparsemem and its pfn_valid(), so their units are large.
 * For all others a unit of one page is correct, if slow.
 */
#if defined(CONFIG_HAVE_ARCH_PFN_VALID) || !defined(CONFIG_SPARSEMEM)
#define VMAP_UNIT	1UL
#elif defined(CONFIG_SPARSEMEM_VMEMMAP)
#define VMAP_UNIT	PAGES_PER_SUBSECTION
#else
#define VMAP_UNIT	PAGES_PER_SECTION
#endif

#if VMAP_UNIT > 1
/*
 * Whether a page is valid because its section was present at boot. Unlike pfn_valid(),
 * this needs no RCU lock, because it does not look at the map of subsections.
 */
static __always_inline bool vmap_is_early(unsigned long pfn)
{
	struct mem_section *section = __pfn_to_section(pfn);

	return valid_section(section) && early_section(section);
}
#else
static inline bool vmap_is_early(unsigned long pfn)
{
	return false;
}
#endif

/* The same as pfn_valid(), but faster for most pages if @batches, which is vmap_batches(). */
static __always_inline bool vmap_is_valid(unsigned long pfn, bool batches)
{
	return (batches && vmap_is_early(pfn)) || pfn_valid(pfn);
}

/**
 * struct vmap_walk - state of a walk that may use leaf entries larger than a page
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known_shift: the caller guarantees that aligned blocks of the array of this size
 *	(as log2) are contiguous and aligned in memory
 * @run: number of contiguous pages that come next, or 0 if not counted yet
 * @blocks_end: the end of the blocks that vmap_make_room() has compared
 */
struct vmap_walk {
	unsigned int max_shift;
	unsigned int known_shift;
	unsigned long run;
	struct page **blocks_end;
};

/* mm/vmap.c */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned int max_shift, unsigned int known_shift);
bool vmap_prepare_pmd(struct vmap_walk *walk, struct page **pages, pmd_t *pmd,
		      unsigned long addr, unsigned long end);
unsigned long vmap_map_batch(struct vmap_walk *walk, struct page **pages, pgprot_t prot,
			     pte_t *pte, unsigned long addr, unsigned long end);
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift);

/* mm/vmalloc.c, for the files above */
int vmap_walk_pages_noflush(unsigned long addr, unsigned long end, pgprot_t prot,
			    struct page **pages, struct vmap_walk *walk);

/*
 * Whether a leaf entry can map the pages that come next. If so, the tables of PTEs in its way
 * may have been freed.
 */
static inline bool vmap_prepare_block(struct vmap_walk *walk, struct page **pages, pmd_t *pmd,
				      unsigned long addr, unsigned long end)
{
	if (likely(!walk))
		return false;

	walk->run = 0;
	return walk->max_shift >= PMD_SHIFT && end - addr >= PMD_SIZE &&
	       IS_ALIGNED(addr, PMD_SIZE) && vmap_prepare_pmd(walk, pages, pmd, addr, end);
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
