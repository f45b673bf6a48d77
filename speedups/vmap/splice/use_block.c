// SPDX-License-Identifier: GPL-2.0-only
// In vmap_pages_pmd_range(): a huge PMD mapping of what is a block by chance, too.
		if (max_shift >= PMD_SHIFT && vmap_is_block(pages + *nr, pmd, addr, end, known) &&
		    vmap_try_huge_pmd(pmd, addr, next, page_to_phys(pages[*nr]), prot, max_shift)) {
