// SPDX-License-Identifier: GPL-2.0-only
// Opts arm64 in, in its asm/vmalloc.h.

#define ARCH_VMAP_BATCHES	1
