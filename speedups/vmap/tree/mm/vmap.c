// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map contiguous memory in batches, for vmap(), vmalloc() and ioremap().
 *
 * The pages of a vmap() array may be contiguous by chance, or because they were
 * allocated together. The pointer of each page is compared with one a few pages further
 * on, which costs a scattered array one comparison a page, and finds every run that is
 * worth a loop of its own, wherever it begins. Nothing relies on compound pages, because an
 * array may hold the pages of a compound page in any order.
 */

#include "vmap_internal.h"

/* Count the contiguous pages at the start of @pages, at most @max. */
static __always_inline unsigned long vmap_run(struct page **pages, unsigned long max)
{
	struct page *page = pages[0];
	unsigned long nr = 0;
	unsigned int i;

	for (; nr + 8 <= max; nr += 8) {
		/* A loop costs more than the comparison in it. */
		unrolled_full
		for (i = 0; i < 8; i++) {
			if (pages[nr + i] != page + nr + i)
				return nr + i;
		}
	}
	while (nr < max && pages[nr] == page + nr)
		nr++;

	return nr;
}

static __always_inline bool vmap_ptes_none(pte_t *pte, unsigned long nr)
{
	/* One branch for four: & makes compilers combine the tests. */
	for (; nr >= 4; nr -= 4, pte += 4) {
		if (!(pte_none(ptep_get(pte)) & pte_none(ptep_get(pte + 1)) &
		      pte_none(ptep_get(pte + 2)) & pte_none(ptep_get(pte + 3))))
			return false;
	}
	for (; nr; nr--, pte++) {
		if (!pte_none(ptep_get(pte)))
			return false;
	}

	return true;
}

/* Whether a huge PMD mapping can map the next pages. */
static bool vmap_is_contiguous(struct vmap_walk *walk, struct page **pages)
{
	unsigned long pfn;

	if (!pages[0])
		return false;
	if (walk->known_shift >= PMD_SHIFT)
		return true;

	pfn = page_to_pfn(pages[0]);
	if (!IS_ALIGNED(pfn, VMAP_PMD_PAGES))
		return false;
	/* A cheap test first. Most arrays that only begin like a block fail it. */
	if (pages[VMAP_PMD_PAGES - 1] != pages[0] + (VMAP_PMD_PAGES - 1))
		return false;
	if (!vmap_pages_valid(pfn, VMAP_PMD_PAGES))
		return false;

	walk->run = vmap_run(pages, VMAP_PMD_PAGES);
	return walk->run == VMAP_PMD_PAGES;
}

/*
 * Map the contiguous pages from *@pages on, at most @max. If @nr is not 0, they are @nr.
 *
 * Return: the number of pages, or 0 if one is not valid or its PTE is in use.
 */
static __always_inline unsigned long vmap_map_run(struct page **pages, pgprot_t prot,
						  unsigned long addr, pte_t *pte,
						  unsigned long nr, unsigned long max,
						  unsigned int max_shift)
{
	unsigned long pfn;

	if (!pages[0])
		return 0;
	pfn = page_to_pfn(pages[0]);
	nr = nr ? min(nr, max) : vmap_run(pages, max);
	if (!vmap_pages_valid(pfn, nr) || !vmap_ptes_none(pte, nr))
		return 0;

	arch_vmap_set_ptes(&init_mm, addr, pte, mk_pte(pages[0], prot), nr, max_shift);

	return nr;
}

/* Whether the first of @nr pages may begin a run. The pages in between are not compared. */
static __always_inline bool vmap_may_be_run(struct page **pages, unsigned long nr)
{
	return nr >= VMAP_RUN_MIN &&
	       pages[VMAP_RUN_MIN - 1] == pages[0] + (VMAP_RUN_MIN - 1);
}

/*
 * Map the pages from *@pages on, at most @max, until a run may begin, a page is not valid or
 * its PTE is in use.
 *
 * Return: the number of pages.
 */
static noinline unsigned long vmap_map_singles(struct page **pages, unsigned long addr,
					       pte_t *pte, pte_t zero, unsigned long max)
{
	unsigned long nr, pfn;

	for (nr = 0; nr < max; nr++) {
		if (vmap_may_be_run(pages + nr, max - nr) || !pages[nr])
			break;
		pfn = page_to_pfn(pages[nr]);
		if (!vmap_pages_valid(pfn, 1) || !pte_none(ptep_get(pte + nr)))
			break;
		set_pte_at(&init_mm, addr + nr * PAGE_SIZE, pte + nr,
			   pte_advance_pfn(zero, pfn));
	}

	return nr;
}

/**
 * vmap_map_batch - map pages by the PTEs of one table, as many as possible
 * @walk: state of the walk, or NULL for leaf entries of one page only
 * @pages: pages to map, in this order
 * @prot: protection bits of the mapping
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 *
 * Return: the number of pages; less than all if one is not valid or its PTE is in use.
 */
unsigned long vmap_map_batch(struct vmap_walk *walk, struct page **pages, pgprot_t prot,
			     pte_t *pte, unsigned long addr, unsigned long end)
{
	const unsigned int max_shift = walk ? walk->max_shift : PAGE_SHIFT;
	unsigned long max = (end - addr) >> PAGE_SHIFT, nr, i = 0;
	unsigned long run = walk ? walk->run : 0;
	pte_t zero = pfn_pte(0, prot);

	lazy_mmu_mode_enable();
	do {
		if (vmap_may_be_run(pages + i, max - i))
			nr = vmap_map_run(pages + i, prot, addr + i * PAGE_SIZE, pte + i, run,
					  max - i, max_shift);
		else
			nr = vmap_map_singles(pages + i, addr + i * PAGE_SIZE, pte + i, zero,
					      max - i);
		i += nr;
		run = 0;
	} while (nr && i < max);
	lazy_mmu_mode_disable();

	return i;
}

/**
 * vmap_prepare_pmd - whether a huge PMD mapping can map the pages that come next
 * @walk: state of the walk
 * @pages: these pages
 * @pmd: entry for the block
 *
 * Huge vmalloc() asks for leaf entries wherever it maps, as before, although
 * vmap_try_huge_pmd() may have to free a table of PTEs for them. For others, no table is freed.
 *
 * Return: true if the pages are a block, and its place is free or may be taken.
 */
bool vmap_prepare_pmd(struct vmap_walk *walk, struct page **pages, pmd_t *pmd)
{
	return (walk->known_shift >= PMD_SHIFT || pmd_none(*pmd)) &&
	       vmap_is_contiguous(walk, pages);
}

/**
 * vmap_map_pages - map pages into a range of kernel address space
 * @addr: start of the mapping
 * @end: end of the mapping, after @addr
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known_shift: log2 of the size of the blocks in which the caller guarantees that the
 *	pages are contiguous and aligned; PAGE_SHIFT if it does not know
 *
 * - Page i of the array is mapped at @addr + i * PAGE_SIZE, however large the leaf
 *   entries are.
 * - Leaf entries larger than a page are used for contiguous pages only. Where they may
 *   be, the caller must unmap the whole mapping, or whole blocks of @known_shift.
 * - The caches are not flushed, and the shadow of KMSAN is not mapped.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM, also if a page is invalid or a PTE is in use. After an error,
 * a part of the pages may be mapped.
 */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned int max_shift, unsigned int known_shift)
{
	struct vmap_walk walk = { .max_shift = max_shift, .known_shift = known_shift };

	might_sleep();

	return vmap_walk_pages_noflush(addr, end, prot, pages, &walk);
}

/**
 * vmap_map_range - map contiguous physical addresses with one table of PTEs
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 * @phys_addr: first physical address, with or without a struct page
 * @prot: protection bits of the mapping
 * @max_page_shift: log2 of the size of the largest leaf entry allowed
 *
 * Context: any.
 * Return: true if all pages are mapped. If false, no page is mapped, and the slow
 * path reports the reason.
 */
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift)
{
	unsigned long nr = (end - addr) >> PAGE_SHIFT;

	if (!vmap_ptes_none(pte, nr))
		return false;

	lazy_mmu_mode_enable();
	arch_vmap_set_ptes(&init_mm, addr, pte, pfn_pte(PHYS_PFN(phys_addr), prot), nr,
			   max_page_shift);
	lazy_mmu_mode_disable();

	return true;
}
