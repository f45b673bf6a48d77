/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_PHASE_H
#define _MM_VMAP_PHASE_H

/* Areas that begin at an offset from a multiple of their alignment. */

#include <linux/align.h>
#include <linux/log2.h>
#include <linux/mm.h>

#include "vmap.h"

/*
 * The alignment of an area is a power of two. With VMAP_AT_OFFSET added, it is the
 * sum of a power of two and a smaller offset in whole pages, and the area begins at
 * that offset from a multiple of the power of two. For example, 2 MB + 28 KB +
 * VMAP_AT_OFFSET asks for an area that begins 28 KB after a multiple of 2 MB. No
 * caller passes such a value by mistake, because it is no power of two.
 */
#define VMAP_AT_OFFSET	2UL

/**
 * vmap_is_alignment - test whether an area can have an alignment
 * @align: the alignment
 *
 * Return: true for a power of two, and for the sum of a power of two, a smaller offset
 * of at least one page, and VMAP_AT_OFFSET.
 */
static inline bool vmap_is_alignment(unsigned long align)
{
	return is_power_of_2(align) ||
	       (offset_in_page(align) == VMAP_AT_OFFSET &&
		!is_power_of_2(align - VMAP_AT_OFFSET));
}

/**
 * vmap_align - get the next address that has an alignment
 * @addr: where to begin
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: the lowest address from @addr on that has the alignment.
 */
static __always_inline unsigned long vmap_align(unsigned long addr, unsigned long align)
{
	unsigned long unit, offset;

	if (likely(!(align & VMAP_AT_OFFSET) || is_power_of_2(align)))
		return ALIGN(addr, align);

	/* No call, for which the functions that search would have to save registers. */
	align -= VMAP_AT_OFFSET;
	unit = rounddown_pow_of_two(align);
	offset = align - unit;
	return ALIGN(addr - offset, unit) + offset;
}

/**
 * vmap_is_aligned - test whether an address has an alignment
 * @addr: the address
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: true if the address has the alignment.
 */
static inline bool vmap_is_aligned(unsigned long addr, unsigned long align)
{
	return vmap_align(addr, align) == addr;
}

/**
 * vmap_align_in_phase - get the alignment with which an area is in phase with memory
 * @leaf: size of a leaf entry
 * @lead: bytes from the start of the memory to the next multiple of @leaf
 *
 * Return: an alignment, or 0 if there is an offset and vmap.method rules that out.
 */
static inline unsigned long vmap_align_in_phase(unsigned long leaf, unsigned long lead)
{
	if (!lead)
		return leaf;

	return vmap_steps() & VMAP_PHASE ? 2 * leaf - lead + VMAP_AT_OFFSET : 0;
}

#endif /* _MM_VMAP_PHASE_H */
