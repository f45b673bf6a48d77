// SPDX-License-Identifier: GPL-2.0-only
// In mm/vmap.c: a block may take the place of tables of PTEs.

 * vmap_prepare_pmd - let a huge PMD mapping map the pages that come next, if it can
 * @walk: state of the walk
 * @pages: these pages
 * @pmd: entry for the block
 * @addr: start of the block, aligned
 * @end: end of the mapping, under the same PUD, a block or more after @addr
 *
 * If tables of PTEs are in the way, it may free them, and flush what CPUs have cached of them.
 *
 * Return: true if the pages are a block, and its place is free or vmap_try_huge_pmd() may
 * free it.
 */
bool vmap_prepare_pmd(struct vmap_walk *walk, struct page **pages, pmd_t *pmd,
		      unsigned long addr, unsigned long end)
{
	return vmap_is_contiguous(walk, pages) &&
	       (pmd_none(*pmd) || vmap_make_room(walk, pages, pmd, addr, end));
}
