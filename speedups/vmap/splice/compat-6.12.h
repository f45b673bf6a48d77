// SPDX-License-Identifier: GPL-2.0-only
// What kernels before 7.0 lack, in mm/vmalloc.c.

/* vmalloc.c does not use lazy MMU mode. */
static inline void lazy_mmu_mode_enable(void)
{
}

static inline void lazy_mmu_mode_disable(void)
{
}

/* From <linux/unroll.h>. */
#define unrolled_full	_Pragma("GCC unroll 65534")

/* There are no contiguous PTE blocks. */
#define arch_vmap_pte_range_unmap_size(addr, pte)	PAGE_SIZE
