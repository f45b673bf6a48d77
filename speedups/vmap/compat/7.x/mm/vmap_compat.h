/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_COMPAT_H
#define _MM_VMAP_COMPAT_H

static inline void vmap_lazy_mmu_enable(void)
{
	lazy_mmu_mode_enable();
}

static inline void vmap_lazy_mmu_disable(void)
{
	lazy_mmu_mode_disable();
}

static inline int vmap_kmsan_map(unsigned long addr, unsigned long end,
				 pgprot_t prot, struct page **pages)
{
	return kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT,
					      GFP_KERNEL);
}

#endif /* _MM_VMAP_COMPAT_H */
