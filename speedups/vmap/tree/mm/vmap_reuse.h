/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_REUSE_H
#define _MM_VMAP_REUSE_H

/* Free the tables of PTEs that are in the way of huge PMD mappings. */

#include <linux/list.h>

#include "vmap_internal.h"

/* If tables of PTEs are in the way of fewer blocks, these are mapped by PTEs. */
#define VMAP_FREE_BLOCKS	8

/**
 * struct vmap_tables - tables of PTEs that were detached, to be freed together
 * @list: the tables
 * @first: first address that one of them maps
 * @last: first address that the last one of them maps
 */
struct vmap_tables {
	struct list_head list;
	unsigned long first;
	unsigned long last;
};

void vmap_detach_table(pmd_t *pmd, unsigned long addr, struct vmap_tables *old);
void vmap_free_tables(struct vmap_tables *old);

#endif /* _MM_VMAP_REUSE_H */
