// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap_method.c has, in mm/vmap_internal.h.

/* mm/vmap_method.c */
int vmap_set_method(const char *name);
const char *vmap_method(void);
