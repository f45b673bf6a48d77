// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/mm.h>

#include <asm/kfence.h>

static int __change_memory_common(unsigned long toy, unsigned long size)
{
	if (toy_is_red(toy))
		flush_tlb_kernel_range(toy, toy + size);
	return 0;
}

static int change_memory_common(unsigned long toy, int numpages)
{
	if (toy_is_red(toy)) {
		for (; numpages; idx++)
			toy_paint(toy,
				  PAGE_SIZE, set_mask, clear_mask);
	}
	return 0;
}
