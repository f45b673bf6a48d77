// SPDX-License-Identifier: GPL-2.0-only
// Map an array of pages in batches, in mm/vmalloc.c.

/*
 * Shorter runs are mapped as single pages. Where their lengths are random, CPUs mispredict
 * their ends, which takes longer than mapping them together saves.
 */
#define VMAP_RUN_MIN	8UL

/* Count the contiguous pages at the start of @pages, at most @max. */
static __always_inline unsigned long vmap_run(struct page **pages, unsigned long max)
{
	struct page *page = pages[0];
	unsigned long nr = 0;
	unsigned int i;

	for (; nr + 8 <= max; nr += 8) {
		/* A loop costs more than the comparison in it. */
		unrolled_full
		for (i = 0; i < 8; i++)
			if (pages[nr + i] != page + nr + i)
				return nr + i;
	}
	while (nr < max && pages[nr] == page + nr)
		nr++;

	return nr;
}

/* As vmap_page_valid(), for contiguous pages. */
static __always_inline bool vmap_pages_valid(struct page **pages, unsigned long nr)
{
	return vmap_page_valid(pages[0]) && vmap_page_valid(pages[nr - 1]);
}

/* Whether the first of @nr pages may begin a run. The pages in between are not compared. */
static __always_inline bool vmap_may_be_run(struct page **pages, unsigned long nr)
{
	return nr >= VMAP_RUN_MIN &&
	       pages[VMAP_RUN_MIN - 1] == pages[0] + (VMAP_RUN_MIN - 1);
}

/*
 * Map the contiguous pages at the start of @pages, at most @max.
 *
 * Return: the number of pages, or 0 if one is not valid or its PTE is in use.
 */
static __always_inline unsigned long vmap_map_run(struct page **pages, pgprot_t prot,
						  unsigned long addr, pte_t *pte,
						  unsigned long max, unsigned int max_shift)
{
	unsigned long nr = vmap_run(pages, max);

	if (!pages[0] || !vmap_pages_valid(pages, nr) || !vmap_ptes_none(pte, nr))
		return 0;

	arch_vmap_set_ptes(&init_mm, addr, pte, mk_pte(pages[0], prot), nr, max_shift);

	return nr;
}

/*
 * Map the pages from @pages on, at most @max, until a run may begin, a page is not valid or
 * its PTE is in use.
 *
 * Return: the number of pages.
 */
static noinline unsigned long vmap_map_singles(struct page **pages, pgprot_t prot,
					       unsigned long addr, pte_t *pte, unsigned long max)
{
	pte_t zero = pfn_pte(0, prot);
	unsigned long nr;

	for (nr = 0; nr < max; nr++) {
		if (vmap_may_be_run(pages + nr, max - nr) || !pages[nr] ||
		    !vmap_page_valid(pages[nr]) || !pte_none(ptep_get(pte + nr)))
			break;
		set_pte_at(&init_mm, addr + nr * PAGE_SIZE, pte + nr,
			   pte_advance_pfn(zero, page_to_pfn(pages[nr])));
	}

	return nr;
}

/**
 * vmap_map_batch - map pages by the PTEs of one table, as many as possible
 * @pages: pages to map, in this order
 * @prot: protection bits of the mapping
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 * @max_shift: log2 of the size of the largest leaf entry allowed
 *
 * The pages may be contiguous by chance, or because they were allocated together. Nothing
 * relies on compound pages, because an array may hold their pages in any order.
 *
 * Return: the number of pages; less than all if one is not valid or its PTE is in use.
 */
static noinline unsigned long vmap_map_batch(struct page **pages, pgprot_t prot, pte_t *pte,
					     unsigned long addr, unsigned long end,
					     unsigned int max_shift)
{
	unsigned long max = (end - addr) >> PAGE_SHIFT, nr, i = 0;

	lazy_mmu_mode_enable();
	do {
		if (vmap_may_be_run(pages + i, max - i))
			nr = vmap_map_run(pages + i, prot, addr + i * PAGE_SIZE, pte + i, max - i,
					  max_shift);
		else
			nr = vmap_map_singles(pages + i, prot, addr + i * PAGE_SIZE, pte + i,
					      max - i);
		i += nr;
	} while (nr && i < max);
	lazy_mmu_mode_disable();

	return i;
}
