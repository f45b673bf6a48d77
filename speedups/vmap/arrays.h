/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ARRAYS_H
#define ARRAYS_H

/* Arrays of pages in the patterns that allocators and users produce. */

#include <linux/mm_types.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/types.h>

/*
 * First PFN of the memory to map. The memory is never accessed, and neither are its
 * struct pages: only their addresses are used.
 */
#define ARRAYS_PFN	0x1000000UL

/* Pages to memory that is too far away for a walk to remember its sections. */
#define ARRAYS_FAR	(SZ_64G >> PAGE_SHIFT)

/* Those at random are drawn from @seed. */
typedef void arrays_fn(struct page **pages, unsigned long nr, u64 seed);

arrays_fn arrays_scattered;	/* single pages in random order */
arrays_fn arrays_far;		/* the same, half of them ARRAYS_FAR away, at random */
arrays_fn arrays_sections;	/* single pages, from two sections in turn */
arrays_fn arrays_short;		/* runs of 1 to 3 pages, at random */
arrays_fn arrays_order0;	/* runs of 1 to 63 pages, at random */
arrays_fn arrays_order4;	/* blocks with gaps between them */
arrays_fn arrays_order8;
arrays_fn arrays_order9;
arrays_fn arrays_mixed;		/* orders 8, 4, 0: 60, 30, 10 % of the bytes */
arrays_fn arrays_lowalign;	/* one run, aligned to 16 pages only */
arrays_fn arrays_late;		/* one run, from the last page before a block on */
arrays_fn arrays_swapped;	/* blocks of order 9, with two pages of each exchanged */

/*
 * Make the table of an array, with one entry for each run. With @random, runs are split
 * into entries at random, and half of the lists have an entry that is not in the table.
 */
void arrays_table(struct sg_table *table, struct page **pages, unsigned long nr,
		  u64 *random);

/* The oracles for the leaf entries of an array, which look at every page. */
#define ARRAYS_BLOCK	512UL		/* pages of a huge PMD mapping */

bool arrays_is_block(struct page *const *pages, unsigned long nr, unsigned long i);
bool arrays_in_phase(struct page *const *pages, unsigned long nr, unsigned long addr,
		     bool phase);

/* splitmix64 */
static inline u64 arrays_random(u64 *state)
{
	u64 z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

#endif /* ARRAYS_H */
