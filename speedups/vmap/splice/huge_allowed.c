// SPDX-License-Identifier: GPL-2.0-only
// Tells mm/vmap_area.c whether nohugevmalloc was given.

/* False with nohugevmalloc, or without huge vmalloc() mappings on this architecture. */
bool vmap_huge_allowed(void)
{
	return vmap_allow_huge;
}
