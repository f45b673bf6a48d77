// SPDX-License-Identifier: GPL-2.0-only
/*
 * vmalloc() by single pages and by blocks, and ioremap(): every method must write the
 * same leaf entries as base.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "matrix.h"
#include "space.h"

#define RANGES		2000UL
/* An address without an area, for mappings that need none. */
#define BARE_ADDRESS	(VMALLOC_START + (1UL << 40))

/* Map without an area, with base and with every method, and compare the leaf entries. */
static int check_bare(struct matrix *m, int (*map)(const struct matrix *m,
						   enum hosted_side side,
						   unsigned long addr),
		      unsigned long addr)
{
	enum space_leaf leaf;
	unsigned int method;
	unsigned long i;
	u64 pte;

	hosted_format(m->check->text, sizeof(m->check->text), "range %lu, %lu pages, prot %#lx",
		      m->number, m->nr, pgprot_val(m->prot));
	if (map(m, HOSTED_BASE, addr))
		return check_wrong(m, "result of base", 0, 0, 1);
	for (i = 0; i < m->nr; i++) {
		m->reference[i] = space_translate(addr + i * PAGE_SIZE, &leaf);
		m->reference[i] |= (u64)leaf << 60;
	}
	HOSTED_CALL(vunmap_range, HOSTED_BASE, addr, addr + m->nr * PAGE_SIZE);

	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		if (map(m, check_side(m), addr))
			return check_wrong(m, "result", 0, 0, 1);
		for (i = 0; i < m->nr; i++) {
			pte = space_translate(addr + i * PAGE_SIZE, &leaf);
			pte |= (u64)leaf << 60;
			if (pte != m->reference[i])
				return check_wrong(m, "entry of bare page", i, m->reference[i],
						   pte);
		}
		if (space_mapped() != m->nr)
			return check_wrong(m, "bare pages mapped in total", 0, m->nr, space_mapped());
		HOSTED_CALL(vunmap_range, check_side(m), addr, addr + m->nr * PAGE_SIZE);
		if (space_mapped())
			return check_wrong(m, "bare pages mapped after unmapping", 0, 0, space_mapped());
		m->check->runs++;
		m->check->bytes += m->nr * sizeof(u64);
	}
	m->check->combinations++;
	return 0;
}

static int map_blocks(const struct matrix *m, enum hosted_side side, unsigned long addr)
{
	return HOSTED_CALL(__vmap_pages_range_noflush, side, addr, addr + m->nr * PAGE_SIZE,
			   m->prot, m->pages, PMD_SHIFT);
}

static int map_singles(const struct matrix *m, enum hosted_side side, unsigned long addr)
{
	return HOSTED_CALL(__vmap_pages_range_noflush, side, addr, addr + m->nr * PAGE_SIZE,
			   m->prot, m->pages, PAGE_SHIFT);
}

static int map_device(const struct matrix *m, enum hosted_side side, unsigned long addr)
{
	return HOSTED_CALL(vmap_page_range, side, addr, addr + m->nr * PAGE_SIZE,
			   PFN_PHYS(page_to_pfn(m->pages[0])), m->prot);
}

/* An empty range of blocks is not an error, and nothing may be mapped. */
static int check_empty(struct matrix *m)
{
	unsigned int method;

	m->nr = 0;
	m->pages[0] = pfn_to_page(ARRAYS_PFN);
	hosted_format(m->check->text, sizeof(m->check->text), "an empty range of blocks");
	if (map_blocks(m, HOSTED_BASE, BARE_ADDRESS))
		return check_wrong(m, "result of base", 0, 0, 1);
	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		if (map_blocks(m, check_side(m), BARE_ADDRESS))
			return check_wrong(m, "result of an empty range", 0, 0, 1);
		if (space_mapped())
			return check_wrong(m, "pages mapped by an empty range", 0, 0,
					   space_mapped());
		m->check->runs++;
	}
	return 0;
}

/* Blocks of huge vmalloc(), or ioremap() of any size, alignment and address. */
static int check_range(struct matrix *m)
{
	unsigned long i, addr;

	m->prot = check_random_prot(m);
	if (check_random(m, 2)) {
		m->nr = ARRAYS_BLOCK * (1 + check_random(m, 5));
		for (i = 0; i < m->nr; i++) {
			if (i % ARRAYS_BLOCK)
				m->pages[i] = m->pages[i - 1] + 1;
			else
				m->pages[i] = pfn_to_page(ARRAYS_PFN +
							  check_random(m, 4096) * ARRAYS_BLOCK);
		}
		return check_bare(m, map_blocks, BARE_ADDRESS);
	}
	m->nr = 1 + check_random(m, MATRIX_MOST);
	m->pages[0] = pfn_to_page(ARRAYS_PFN + (check_random(m, 1UL << 20) << check_random(m, 11)));
	addr = BARE_ADDRESS + (check_random(m, 1024) << check_random(m, 10)) * PAGE_SIZE;
	return check_bare(m, map_device, addr);
}

/*
 * Single pages in runs of all lengths, at any address. Huge PMD mappings would fit, but
 * users of single pages unmap parts, here one in the middle.
 */
static int check_singles(struct matrix *m)
{
	unsigned long addr, i, from, part;
	unsigned int method;

	check_fill(m);
	addr = BARE_ADDRESS + check_random(m, 2 * ARRAYS_BLOCK) * PAGE_SIZE;
	/* Half of them are one run with addresses in phase. */
	if (check_random(m, 2)) {
		m->nr = 2 * ARRAYS_BLOCK + check_random(m, ARRAYS_BLOCK);
		for (i = 1; i < m->nr; i++)
			m->pages[i] = m->pages[i - 1] + 1;
		addr = BARE_ADDRESS + page_to_pfn(m->pages[0]) % ARRAYS_BLOCK * PAGE_SIZE;
	}
	if (check_bare(m, map_singles, addr))
		return -1;
	from = check_random(m, m->nr);
	part = 1 + check_random(m, m->nr - from);
	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		/* Tables of PTEs would be in the way of huge PMD mappings. */
		space_drop_tables();
		if (map_singles(m, check_side(m), addr))
			return check_wrong(m, "result of single pages", 0, 0, 1);
		HOSTED_CALL(vunmap_range, check_side(m), addr + from * PAGE_SIZE,
			    addr + (from + part) * PAGE_SIZE);
		for (i = 0; i < m->nr; i++) {
			enum space_leaf leaf, want = i < from || i >= from + part ?
						     SPACE_PTE : SPACE_NONE;

			space_translate(addr + i * PAGE_SIZE, &leaf);
			if (leaf != want)
				return check_wrong(m, "kind of leaf entry after unmapping a part, page",
						   i, want, leaf);
		}
		HOSTED_CALL(vunmap_range, check_side(m), addr, addr + m->nr * PAGE_SIZE);
		m->check->runs++;
	}
	return 0;
}

int check_ranges(struct matrix *m)
{
	unsigned long i;

	for (i = 0; i < RANGES; i += m->check->stride) {
		m->number = i;
		m->random = ~i;
		hosted_layout = i % HOSTED_LAYOUTS;
		if (check_range(m) || (i / m->check->stride % 8 == 0 && check_singles(m)))
			return -1;
	}
	return check_empty(m);
}
