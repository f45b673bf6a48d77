// SPDX-License-Identifier: GPL-2.0-only
// Opts x86-64 in, in its asm/vmalloc.h.

#ifdef CONFIG_X86_64
#define ARCH_VMAP_BATCHES	1
#endif
