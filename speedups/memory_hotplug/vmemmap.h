/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMEMMAP_H
#define VMEMMAP_H

/*
 * A device whose struct pages lie in memory of the machine, and the page tables that map
 * them. Shared by bench.c and check_vmemmap.c.
 */

#include <linux/types.h>

#include "hosted.h"

void vmemmap_memory(void *memory, unsigned long bytes);
void vmemmap_begin(void);
void vmemmap_leave(void);
bool vmemmap_populate_device(enum hosted_side side, unsigned long pfn, unsigned long nr_pages,
			     unsigned long device_pfn, unsigned int shift, int nid);
bool vmemmap_populate_plain(enum hosted_side side, unsigned long pfn, unsigned long nr_pages,
			    int nid);
void vmemmap_allocations(unsigned long nr);
unsigned long vmemmap_used(void);
unsigned long vmemmap_nodes(void);
unsigned long vmemmap_pfn(unsigned long pfn, unsigned int at);

#endif /* VMEMMAP_H */
