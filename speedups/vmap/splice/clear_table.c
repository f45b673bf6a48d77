// SPDX-License-Identifier: GPL-2.0-only
// In vunmap_pmd_range(): what mm/vmap_unmap.c leaves is cleared as before.
		if (vmap_batches() && vmap_clear_ptes(pmd, addr, next))
			*mask |= PGTBL_PTE_MODIFIED;
		else
			vunmap_pte_range(pmd, addr, next, mask);
