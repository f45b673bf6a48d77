// SPDX-License-Identifier: GPL-2.0-only
// Replaces vmap_batches() in mm/vmap_internal.h, so that a parameter decides.

/*
 * What is done in batches; a method is a set of these.
 *
 * VMAP_RUNS	write the PTEs of contiguous pages together
 * VMAP_PMD	let vmap() use huge PMD mappings, and align areas for them
 * VMAP_PHASE	let vmap() place an area at an offset from an aligned address
 */
#define VMAP_RUNS	BIT(0)
#define VMAP_PMD	BIT(1)
#ifndef VMAP_PHASE
#define VMAP_PHASE	BIT(2)
#endif

#define VMAP_ALL	(VMAP_RUNS | VMAP_PMD | VMAP_PHASE)

/* The steps of the method that is chosen by vmap_set_method(). */
extern unsigned int vmap_chosen_steps;
/* How many blocks are worth a flush of all TLBs; tests change it. */
extern unsigned int vmap_free_blocks;

/**
 * vmap_steps - get what is done in batches
 *
 * Return: a set of the above; 0 if the slow path does everything, as always on an
 * architecture without ARCH_VMAP_BATCHES.
 */
static inline unsigned int vmap_steps(void)
{
	return READ_ONCE(vmap_chosen_steps);
}

/* Whether to map and unmap in batches. If not, the slow path does everything. */
static inline bool vmap_batches(void)
{
	return vmap_steps();
}
