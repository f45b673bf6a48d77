/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_COMPAT_H
#define _MM_VMAP_COMPAT_H

/* vmalloc.c of these kernels does not use lazy MMU mode. */
static inline void vmap_lazy_mmu_enable(void)
{
}

static inline void vmap_lazy_mmu_disable(void)
{
}

/* It does not know contiguous PTE blocks either. */
static inline unsigned long arch_vmap_pte_range_unmap_size(unsigned long addr, pte_t *ptep)
{
	return PAGE_SIZE;
}

static inline int vmap_kmsan_map(unsigned long addr, unsigned long end,
				 pgprot_t prot, struct page **pages)
{
	return kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
}

#endif /* _MM_VMAP_COMPAT_H */
