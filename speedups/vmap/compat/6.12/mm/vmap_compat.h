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

static inline int vmap_kmsan_map(unsigned long addr, unsigned long end,
				 pgprot_t prot, struct page **pages)
{
	return kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
}

#endif /* _MM_VMAP_COMPAT_H */
