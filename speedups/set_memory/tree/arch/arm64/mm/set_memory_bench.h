/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ARM64_MM_SET_MEMORY_BENCH_H
#define _ARM64_MM_SET_MEMORY_BENCH_H

#include <linux/mm_inline.h>

#include <asm/tlbflush.h>

extern bool set_memory_by_page;
extern unsigned long set_memory_flushes;

#ifdef CONFIG_SET_MEMORY_BENCH
static inline size_t set_memory_run(struct page **pages, size_t nr)
{
	return set_memory_by_page ? 1 : num_pages_contiguous(pages, nr);
}

static inline void set_memory_flush(unsigned long start, unsigned long end)
{
	set_memory_flushes++;
	flush_tlb_kernel_range(start, end);
}
#else
#define set_memory_run		num_pages_contiguous
#define set_memory_flush	flush_tlb_kernel_range
#endif

#endif /* _ARM64_MM_SET_MEMORY_BENCH_H */
