// SPDX-License-Identifier: GPL-2.0-only
// What kernels before 7.0 lack, in mm/vmap_sgt.c.

/* KMSAN allocates as GFP_KERNEL says, always. */
#define kmsan_vmap_pages_range_noflush(addr, end, prot, pages, shift, gfp) \
	kmsan_vmap_pages_range_noflush(addr, end, prot, pages, shift)
