// SPDX-License-Identifier: GPL-2.0-only
// How x86-64 flushes tables of PTEs that are no longer in use, in its asm/vmalloc.h.

/*
 * Flush what CPUs have cached of tables of PTEs that are no longer in use. A walk with
 * interrupts disabled, as that of perf, may be inside a table until an interrupt of its CPU
 * has been handled. INVLPGB flushes without one.
 */
#ifdef CONFIG_X86_64
#define arch_vmap_flush_tables(start, end)				\
do {									\
	flush_tlb_kernel_range(start, end);				\
	if (cpu_feature_enabled(X86_FEATURE_INVLPGB))			\
		tlb_remove_table_sync_one();				\
} while (0)
#endif
