// SPDX-License-Identifier: GPL-2.0-only
// vmap_try_huge_pmd() for mm/vmap.c, in 7.0 and later.

/* Returns 0 if a huge PMD mapping is not possible, and the caller must use PTEs. */
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift)
{
	return vmap_try_huge_pmd(pmd, addr, end, phys_addr, prot, max_page_shift);
}
