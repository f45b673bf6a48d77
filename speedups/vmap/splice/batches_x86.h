// SPDX-License-Identifier: GPL-2.0-only
// Opts x86-64 in, in its asm/vmalloc.h.

#if defined(CONFIG_X86_64) && defined(CONFIG_SPARSEMEM_VMEMMAP)
#define ARCH_VMAP_BATCHES	1
#endif
