// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>
#include "internal.h"

static int __meminit vmemmap_populate_range(unsigned long start,
					    unsigned long end, int node,
					    struct vmem_altmap *altmap,
					    unsigned long ptpfn,
					    unsigned long flags)
{
	unsigned long addr;
	pte_t *pte;

	for (addr = start; addr < end; addr += toy_size(node)) {
		pte = vmemmap_populate_address(addr, node, altmap, ptpfn,
					       flags);
		if (!pte)
			return -ENOMEM;
	}

	return 0;
}
