// SPDX-License-Identifier: GPL-2.0-only
// What kernels before 7.0 lack for mm/vmap_unmap.c, in mm/vmap_internal.h.

/* vmalloc.c does not know contiguous PTE blocks. */
static inline unsigned long arch_vmap_pte_range_unmap_size(unsigned long addr, pte_t *ptep)
{
	return PAGE_SIZE;
}
