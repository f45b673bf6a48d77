// SPDX-License-Identifier: GPL-2.0-only
/* Arrays of pages in the patterns that allocators and users produce. */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include "arrays.h"

/* Put @run pages from @pfn on into the array; returns the next index. */
static unsigned long put_run(struct page **pages, unsigned long i, unsigned long nr,
			     unsigned long pfn, unsigned long run)
{
	for (run = min(run, nr - i); run; run--)
		pages[i++] = pfn_to_page(pfn++);
	return i;
}

/* Put blocks of 2^@order pages from @pfn on into the array, with a gap after each. */
static unsigned long put_blocks(struct page **pages, unsigned long i, unsigned long nr,
				unsigned long *pfn, unsigned int order)
{
	*pfn = ALIGN(*pfn, 1UL << order);
	while (i < nr) {
		i = put_run(pages, i, nr, *pfn, 1UL << order);
		*pfn += 2UL << order;
	}
	return i;
}

void arrays_scattered(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long i, other, pfn = ARRAYS_PFN;

	put_blocks(pages, 0, nr, &pfn, 0);
	for (i = nr - 1; i; i--) {
		other = arrays_random(&seed) % (i + 1);
		swap(pages[i], pages[other]);
	}
}

void arrays_far(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long i;

	arrays_scattered(pages, nr, seed);
	for (i = 0; i < nr; i++)
		pages[i] += arrays_random(&seed) % 2 * ARRAYS_FAR;
}

void arrays_sections(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long i;

	for (i = 0; i < nr; i++)
		pages[i] = pfn_to_page(ARRAYS_PFN + i + i % 2 * PAGES_PER_SECTION);
}

/* Put runs of 1 to @most pages into the array, with gaps between them. */
static void put_runs(struct page **pages, unsigned long nr, unsigned int most, u64 seed)
{
	unsigned long i = 0, pfn = ARRAYS_PFN, run;

	while (i < nr) {
		run = 1 + arrays_random(&seed) % most;
		i = put_run(pages, i, nr, pfn, run);
		pfn += run + 1 + arrays_random(&seed) % 63;
	}
}

void arrays_short(struct page **pages, unsigned long nr, u64 seed)
{
	put_runs(pages, nr, 3, seed);
}

void arrays_order0(struct page **pages, unsigned long nr, u64 seed)
{
	put_runs(pages, nr, 63, seed);
}

void arrays_order4(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long pfn = ARRAYS_PFN;

	put_blocks(pages, 0, nr, &pfn, 4);
}

void arrays_order8(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long pfn = ARRAYS_PFN;

	put_blocks(pages, 0, nr, &pfn, 8);
}

void arrays_order9(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long pfn = ARRAYS_PFN;

	put_blocks(pages, 0, nr, &pfn, 9);
}

void arrays_mixed(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long i, pfn = ARRAYS_PFN;

	i = put_blocks(pages, 0, nr * 6 / 10, &pfn, 8);
	i = put_blocks(pages, i, nr * 9 / 10, &pfn, 4);
	put_blocks(pages, i, nr, &pfn, 0);
}

void arrays_lowalign(struct page **pages, unsigned long nr, u64 seed)
{
	put_run(pages, 0, nr, ARRAYS_PFN + 16, nr);
}

void arrays_late(struct page **pages, unsigned long nr, u64 seed)
{
	put_run(pages, 0, nr, ARRAYS_PFN + 511, nr);
}

void arrays_swapped(struct page **pages, unsigned long nr, u64 seed)
{
	unsigned long i, one, other;

	arrays_order9(pages, nr, seed);
	for (i = 0; i + 512 <= nr; i += 512) {
		one = arrays_random(&seed) % 512;
		other = arrays_random(&seed) % 512;
		swap(pages[i + one], pages[i + other]);
	}
}

void arrays_table(struct sg_table *table, struct page **pages, unsigned long nr,
		  u64 *random)
{
	struct scatterlist *sg = table->sgl;
	unsigned long i, run;

	sg_init_table(table->sgl, nr + !!random);
	for (i = 0; i < nr; i += run, sg++) {
		for (run = 1; i + run < nr && pages[i + run] == pages[i] + run; run++) {
			if (random && !(arrays_random(random) % 300))
				break;
		}
		sg_set_page(sg, pages[i], run * PAGE_SIZE, 0);
	}
	table->nents = sg - table->sgl;
	table->orig_nents = table->nents;
	/* The list may continue where the table ends. */
	if (random && arrays_random(random) % 2)
		sg_set_page(sg++, pages[nr - 1] + 1, PAGE_SIZE, 0);
	sg_mark_end(sg - 1);
}

/* Whether the pages from @i on can be a huge PMD mapping, if the address is aligned. */
bool arrays_is_block(struct page *const *pages, unsigned long nr, unsigned long i)
{
	unsigned long j;

	if (i + ARRAYS_BLOCK > nr || page_to_pfn(pages[i]) % ARRAYS_BLOCK)
		return false;
	for (j = 1; j < ARRAYS_BLOCK; j++) {
		if (pages[i + j] != pages[i] + j)
			return false;
	}
	return true;
}

/*
 * Whether @addr suits the array. If the array begins with a run that contains a
 * block, the block must be at an aligned address. Without @phase, this is required
 * only if the array begins with the block.
 */
bool arrays_in_phase(struct page *const *pages, unsigned long nr, unsigned long addr,
		     bool phase)
{
	unsigned long pfn = page_to_pfn(pages[0]), lead = -pfn % ARRAYS_BLOCK, i;

	if ((lead && !phase) || lead >= nr || !arrays_is_block(pages, nr, lead))
		return true;
	for (i = 0; i <= lead; i++) {
		if (pages[i] != pages[0] + i)
			return true;
	}
	return (addr >> PAGE_SHIFT) % ARRAYS_BLOCK == pfn % ARRAYS_BLOCK;
}
