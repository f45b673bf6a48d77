// SPDX-License-Identifier: GPL-2.0-only
// The step of addresses in phase, in mm/vmap.h.

/* Let vmap() place an area at the same offset from a multiple of PMD_SIZE as its memory. */
#ifndef VMAP_PHASE
#define VMAP_PHASE	BIT(2)
#endif
#define VMAP_ALL	(VMAP_RUNS | VMAP_PMD | VMAP_PHASE)
