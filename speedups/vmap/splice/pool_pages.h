// SPDX-License-Identifier: GPL-2.0-only
// Areas that the step leaves alone, in mm/vmap.h.

/* vmalloc.c keeps freed areas of fewer pages (without the guard page) in pools by size. */
#define VMAP_POOL_PAGES	256UL
