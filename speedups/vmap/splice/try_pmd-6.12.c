// SPDX-License-Identifier: GPL-2.0-only
// vmap_try_huge_pmd() for mm/vmap.c. Kernels from 7.0 on take the lock where they free
// the table.

/*
 * Returns 0 if a huge PMD mapping is not possible, and the caller must use PTEs.
 * ptdump holds the lock for writing, and does not expect tables to be freed under it.
 */
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift)
{
	const bool table = pmd_present(*pmd);
	int done;

	if (table && !mmap_read_trylock(&init_mm))
		return 0;
	done = vmap_try_huge_pmd(pmd, addr, end, phys_addr, prot, max_page_shift);
	if (table)
		mmap_read_unlock(&init_mm);

	return done;
}
