/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SPACE_H
#define SPACE_H

/* The kernel's address space, for the bench, the check and the fuzzer. */

#include <linux/io.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include "hosted.h"

/* Only headers in mm/ declare these, and which one depends on the kernel. */
void vmalloc_init(void);
int __vmap_pages_range_noflush(unsigned long addr, unsigned long end, pgprot_t prot,
			       struct page **pages, unsigned int page_shift);

HOSTED_ENTRY(vmalloc_init);
HOSTED_ENTRY(vmap);
HOSTED_ENTRY(vunmap);
HOSTED_ENTRY(vm_unmap_aliases);
HOSTED_ENTRY(find_vm_area);
HOSTED_ENTRY(__vmap_pages_range_noflush);
HOSTED_ENTRY(vmap_page_range);
HOSTED_ENTRY(vunmap_range);
HOSTED_EXTRA(int, vmap_set_method, const char *name);
HOSTED_EXTRA(struct vm_struct *, vmap_get_area, unsigned long size, unsigned long flags,
	     pgprot_t prot, struct page **pages, const void *caller);

HOSTED_EXTRA(void *, vmap_sgt, struct sg_table *sgt, pgprot_t prot);

/* The kind of leaf entry that maps a page. */
enum space_leaf { SPACE_NONE, SPACE_PTE, SPACE_PMD };

void space_init(unsigned long memory);
u64 space_translate(unsigned long addr, enum space_leaf *leaf);
unsigned long space_mapped(void);
void space_forget_tables(void);
void space_drop_tables(void);

#endif /* SPACE_H */
