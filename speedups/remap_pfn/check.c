// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map ranges of every kind into a process: at all places in a page table, with all kinds of
 * protection, without memory for a page table, and on a CPU with L1TF pages that are refused.
 * The PTEs, the result, what is flushed and what is asked of capable() must be those of the
 * kernel's own function.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#include "check.h"
#include "space.h"

enum {
	MOST_PAGES	= 2 * PTRS_PER_PTE + 3,
	AROUND		= 4,
	TABLES		= 4,
};

/* PFNs from here on may be refused on a CPU with L1TF; it is within the engine's memmap. */
#define LIMIT		(1UL << (SPACE_CACHE_BITS - 1 - PAGE_SHIFT))

/* Which physical addresses are memory. */
enum memory { NO_MEMORY, ALL_MEMORY, ONE_HOLE, MEMORIES };

struct input {
	unsigned long at, nr, pfn;
	unsigned int prot;
	enum memory memory;
	bool l1tf, capable;
	unsigned long allocations;	/* that succeed; all if it is TABLES or more */
};

struct outcome {
	int err;
	struct space_effects effects[2];	/* of mapping and of unmapping */
	u64 ptes[AROUND + MOST_PAGES + AROUND];
};

static pgprot_t protection(unsigned int i)
{
	const pgprot_t all[] = {
		PAGE_SHARED, PAGE_READONLY, PAGE_NONE, pgprot_noncached(PAGE_SHARED),
		__pgprot(pgprot_val(PAGE_READONLY) | _PAGE_PAT), PAGE_KERNEL,
	};

	return all[i];
}

#define PROTECTIONS	6

static void take(enum hosted_side side, const struct input *in, struct outcome *out)
{
	const unsigned long start = SPACE_START + PMD_SIZE;
	const unsigned long addr = start + in->at * PAGE_SIZE, bytes = in->nr * PAGE_SIZE;
	unsigned long i;

	memset(out, 0, sizeof(*out));
	space_begin(SPACE_START, (TABLES + 1) * PMD_SIZE);
	space_l1tf(in->l1tf, in->capable);
	hosted_early_sections(in->memory != NO_MEMORY);
	if (in->memory == ONE_HOLE)
		hosted_hole_at(LIMIT);
	hosted_allocations_fail(in->allocations, in->allocations < TABLES);
	out->err = space_remap(side, addr, in->pfn, bytes, protection(in->prot));
	hosted_allocations_fail(0, 0);
	space_effects(&out->effects[0]);
	for (i = 0; i < in->nr + 2 * AROUND; i++)
		out->ptes[i] = space_pte(addr + (i - AROUND) * PAGE_SIZE);
	space_unmap(side, addr, bytes);
	space_effects(&out->effects[1]);
	space_drop_tables(SPACE_START, (TABLES + 1) * PMD_SIZE);
}

static int compare(struct hosted_check *check, const struct input *in)
{
	static struct outcome base, ours;
	unsigned long i;

	if (check->combinations++ % check->stride)
		return 0;
	take(HOSTED_BASE, in, &base);
	take(hosted_checked(check), in, &ours);
	check->runs += 2;
	check->bytes += sizeof(ours);
	if (!memcmp(&base, &ours, sizeof(ours)))
		return 0;
	for (i = 0; i < ARRAY_SIZE(base.ptes) - 1 && base.ptes[i] == ours.ptes[i]; i++)
		;
	hosted_format(check->text, sizeof(check->text),
		      "%lu pages of PFN %#lx at page %lu, protection %u, memory %d, L1TF %d, capable %d, %lu tables: result %d and not %d, page %ld has PTE %#llx and not %#llx, capable() called %lu times and not %lu",
		      in->nr, in->pfn, in->at, in->prot, in->memory, in->l1tf, in->capable,
		      in->allocations, ours.err, base.err, (long)(i - AROUND), ours.ptes[i],
		      base.ptes[i], ours.effects[0].asked, base.effects[0].asked);
	return -1;
}

/* All protections, on CPUs with and without L1TF, for processes with and without privilege. */
static int check_range(struct hosted_check *check, struct input *in)
{
	unsigned int i;

	for (in->prot = 0; in->prot < PROTECTIONS; in->prot++) {
		for (i = 0; i < 4 * MEMORIES; i++) {
			in->l1tf = i & 1;
			in->capable = i & 2;
			in->memory = i / 4;
			if (compare(check, in))
				return -1;
		}
	}
	return 0;
}

int remap_pfn_check(struct hosted_check *check)
{
	static const unsigned long starts[] = {
		0, 1, PTRS_PER_PTE / 2, PTRS_PER_PTE - 2, PTRS_PER_PTE - 1,
	};
	static const unsigned long sizes[] = {
		1, 2, 3, 17, PTRS_PER_PTE - 1, PTRS_PER_PTE, PTRS_PER_PTE + 1, MOST_PAGES,
	};
	unsigned int i, j, k;

	space_init(16UL << 20);
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		for (j = 0; j < ARRAY_SIZE(sizes); j++) {
			const unsigned long nr = sizes[j];
			/* The first PFN that may be refused is in the range, or is not. */
			const unsigned long pfns[] = {
				1, LIMIT - nr, LIMIT - nr + 1, LIMIT - nr / 2, LIMIT - 1, LIMIT,
				LIMIT + PTRS_PER_PTE - 1,
			};
			struct input in = { .at = starts[i], .nr = nr };

			for (k = 0; k < ARRAY_SIZE(pfns); k++) {
				in.pfn = pfns[k];
				in.allocations = TABLES;
				if (check_range(check, &in))
					return -1;
			}
			for (in.allocations = 0; in.allocations < TABLES; in.allocations++)
				if (check_range(check, &in))
					return -1;
		}
	}
	return 0;
}
