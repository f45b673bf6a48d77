// SPDX-License-Identifier: GPL-2.0-only
// What kernels before 7.0 lack, in mm/vmap_internal.h.

/* vmalloc.c does not use lazy MMU mode. */
static inline void lazy_mmu_mode_enable(void)
{
}

static inline void lazy_mmu_mode_disable(void)
{
}

/* It does not know contiguous PTE blocks either. */
static inline unsigned long arch_vmap_pte_range_unmap_size(unsigned long addr, pte_t *ptep)
{
	return PAGE_SIZE;
}

/* KMSAN allocates as GFP_KERNEL says, always. */
#define kmsan_vmap_pages_range_noflush(addr, end, prot, pages, shift, gfp) \
	kmsan_vmap_pages_range_noflush(addr, end, prot, pages, shift)
