/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef SPACE_H
#define SPACE_H

/* A process with one mapping, for bench.c and check.c. */

#include <linux/mm.h>
#include <linux/mm_types.h>

#include "hosted.h"

/* Where the process has mappings; the page tables are its own. */
#define SPACE_START	(1UL << 45)

void space_init(unsigned long memory);
void space_begin(unsigned long start, unsigned long bytes);
void space_drop_tables(unsigned long start, unsigned long bytes);

/* What a call did besides its PTEs, since the last look. */
struct space_effects {
	unsigned long flushes;
	unsigned long flushed;		/* a sum over the ranges */
	unsigned long asked;		/* calls of capable() */
	unsigned long tables;		/* in use */
};

/* On a CPU with L1TF, page frames from half of the addresses that the caches can have on. */
#define SPACE_CACHE_BITS	39

void space_l1tf(bool affected, bool capable);
void space_effects(struct space_effects *effects);
u64 space_pte(unsigned long addr);

int space_remap(enum hosted_side side, unsigned long addr, unsigned long pfn,
		unsigned long bytes, pgprot_t prot);
void space_unmap(enum hosted_side side, unsigned long addr, unsigned long bytes);

#endif /* SPACE_H */
