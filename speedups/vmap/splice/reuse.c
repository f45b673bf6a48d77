// SPDX-License-Identifier: GPL-2.0-only
// Free the tables of PTEs that are in the way of blocks, in mm/vmalloc.c.

 * Whether pages are contiguous and aligned for a huge PMD mapping, because the caller knows that
 * they are, or because all are compared.
 */
static bool vmap_is_contiguous(struct page **pages, bool known)
{
	/* Cheap tests first. Most arrays that only begin like a block fail one of them. */
	return known ||
	       (pages[0] && IS_ALIGNED(page_to_pfn(pages[0]), VMAP_PMD_PAGES) &&
		pages[VMAP_PMD_PAGES - 1] == pages[0] + (VMAP_PMD_PAGES - 1) &&
		vmap_run(pages, VMAP_PMD_PAGES) == VMAP_PMD_PAGES &&
		vmap_pages_valid(pages, VMAP_PMD_PAGES));
}

#ifdef arch_vmap_flush_tables
/**
 * vmap_detach_table - detach an empty table of PTEs, so that a leaf entry can take its place
 * @pmd: PMD entry, which may point to no table
 * @addr: address that it maps
 * @old: where to collect the table
 *
 * Context: init_mm is locked for reading, because ptdump holds the lock for writing and expects
 * no table to be freed.
 */
void vmap_detach_table(pmd_t *pmd, unsigned long addr, struct vmap_tables *old)
{
	if (!pmd_present(*pmd) || pmd_leaf(*pmd))
		return;
	if (list_empty(&old->list))
		old->first = addr;
	old->last = addr;
	list_add(&page_ptdesc(pmd_page(*pmd))->pt_list, &old->list);
	pmd_clear(pmd);
}

/**
 * vmap_free_tables - free detached tables, with one flush for all
 * @old: the tables
 */
void vmap_free_tables(struct vmap_tables *old)
{
	struct ptdesc *table, *next;

	if (list_empty(&old->list))
		return;
	/*
	 * CPUs may have cached the PMD entries of these tables. No PTE was in use, so one
	 * page is enough for one table. The range of several is usually flushed as a whole.
	 */
	arch_vmap_flush_tables(old->first, old->last + PAGE_SIZE);
	list_for_each_entry_safe(table, next, &old->list, pt_list)
		pte_free_kernel(&init_mm, ptdesc_address(table));
}

/*
 * Whether a leaf entry can map the next block. If there are tables of PTEs, free those of all
 * blocks that follow. vmap_try_huge_pmd() would free one at a time, and flush the TLBs of all CPUs
 * for each. For a few blocks, even one flush takes longer than leaf entries save.
 */
static noinline bool vmap_make_room(struct page **pages, pmd_t *pmd, unsigned long addr,
				    unsigned long end, bool known)
{
	struct vmap_tables old = { LIST_HEAD_INIT(old.list) };
	unsigned long i, nr = 0;

	while (end - addr - nr * PMD_SIZE >= PMD_SIZE &&
	       vmap_is_contiguous(pages + nr * VMAP_PMD_PAGES, known))
		nr++;
	/* For huge vmalloc(), vmap_try_huge_pmd() frees them, with a flush of one page for each. */
	if (nr < VMAP_FREE_BLOCKS)
		return known;

	if (!mmap_read_trylock(&init_mm))
		return false;
	for (i = 0; i < nr; i++)
		vmap_detach_table(pmd + i, addr + i * PMD_SIZE, &old);
	vmap_free_tables(&old);
	mmap_read_unlock(&init_mm);

	return true;
}
#else
static inline bool vmap_make_room(struct page **pages, pmd_t *pmd, unsigned long addr,
				  unsigned long end, bool known)
{
	return true;
}
#endif

/*
 * Whether a huge PMD mapping can map the pages that come next. If tables of PTEs are in the way,
 * it may free them, and flush what CPUs have cached of them.
 */
static bool vmap_is_block(struct page **pages, pmd_t *pmd, unsigned long addr, unsigned long end,
			  bool known)
{
	return end - addr >= PMD_SIZE && IS_ALIGNED(addr, PMD_SIZE) &&
	       vmap_is_contiguous(pages, known) &&
	       (pmd_none(*pmd) || vmap_make_room(pages, pmd, addr, end, known));
}
