// SPDX-License-Identifier: GPL-2.0-only
// How x86-64 flushes tables of PTEs that are no longer in use, in its asm/vmalloc.h.

/* Flush what CPUs have cached of tables of PTEs. Its interrupt also waits for lockless walks. */
#ifdef CONFIG_X86_64
#define arch_vmap_flush_tables(start, end)	flush_tlb_kernel_range(start, end)
#endif
