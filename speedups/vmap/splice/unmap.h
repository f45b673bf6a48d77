// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap_unmap.c has, in mm/vmap.h.

/* mm/vmap_unmap.c */
bool vmap_clear_ptes(pmd_t *pmd, unsigned long addr, unsigned long end);
