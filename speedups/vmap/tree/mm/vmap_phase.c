// SPDX-License-Identifier: GPL-2.0-only
/* Areas that begin at an offset from a multiple of their alignment. */

#include "vmap_phase.h"

/**
 * vmap_align_at_offset - get the next address at an offset from an alignment
 * @addr: where to begin
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: the lowest address from @addr on that has the alignment.
 */
unsigned long vmap_align_at_offset(unsigned long addr, unsigned long align)
{
	unsigned long unit, offset;

	if (is_power_of_2(align))
		return ALIGN(addr, align);

	align -= VMAP_AT_OFFSET;
	unit = rounddown_pow_of_two(align);
	offset = align - unit;
	return ALIGN(addr - offset, unit) + offset;
}
