// SPDX-License-Identifier: GPL-2.0-only
// Opts x86-64 in, in its asm/vmalloc.h.

#ifdef CONFIG_X86_64
#define ARCH_VMAP_BATCHES	1

/* Flush what CPUs have cached of tables of PTEs that are no longer in use. */
#define arch_vmap_flush_tables(start, end)	flush_tlb_kernel_range(start, end)
#endif
