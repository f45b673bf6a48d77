/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef VMAP_CHECK_H
#define VMAP_CHECK_H

/* What bench.c and check.c share. */

#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "hosted.h"

/* Declared in headers of mm/ only, which differ. */
void vmalloc_init(void);

HOSTED_ENTRY(vmalloc_init);
HOSTED_ENTRY(vmap);
HOSTED_ENTRY(vunmap);
HOSTED_ENTRY(vm_unmap_aliases);
HOSTED_EXTRA(int, vmap_set_method, const char *name);

u64 vmap_translate(unsigned long addr);

#endif /* VMAP_CHECK_H */
