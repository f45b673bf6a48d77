// SPDX-License-Identifier: GPL-2.0-only
// Opts arm64 in, in its asm/vmalloc.h.

#ifdef CONFIG_SPARSEMEM_VMEMMAP
#define ARCH_VMAP_BATCHES	1
#endif
