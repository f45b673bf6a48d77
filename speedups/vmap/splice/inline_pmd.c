// SPDX-License-Identifier: GPL-2.0-only
// Keeps vmap_try_huge_pmd() inline in its first caller; vmap_pages_pmd_range() is the second.

static __always_inline int
vmap_try_huge_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		  phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift)
