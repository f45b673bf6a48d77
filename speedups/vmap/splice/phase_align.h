// SPDX-License-Identifier: GPL-2.0-only
// The alignment of areas in phase with their memory, in mm/vmap_internal.h.

 * The alignment of an area for memory that begins @lead bytes before a multiple of
 * @leaf: @leaf, plus the offset at which the area begins.
 */
static inline unsigned long vmap_align_for(unsigned long leaf, unsigned long lead)
{
	return lead ? 2 * leaf - lead : leaf;
