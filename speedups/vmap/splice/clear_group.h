// SPDX-License-Identifier: GPL-2.0-only
// What an architecture without contiguous PTE blocks needs, in mm/vmap_internal.h.

/*
 * arch_vmap_clear_group(ptep, nr) clears the @nr PTEs of a group and returns true, or
 * returns false and changes nothing.
 */
#ifndef arch_vmap_clear_group
#define arch_vmap_clear_group(ptep, nr)	false
#endif
