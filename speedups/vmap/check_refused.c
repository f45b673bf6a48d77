// SPDX-License-Identifier: GPL-2.0-only
/* Errors that vmap() must report, after which nothing may be mapped or allocated. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "matrix.h"
#include "space.h"

/* Past the end of all physical memory. */
#define NO_PFN		(1UL << 40)

/* With every method: one warning, no mapping, no leaked object. */
static int check_rejected(struct matrix *m, const char *why, unsigned long i)
{
	unsigned long slabs, seen;
	unsigned int method;
	void *addr;

	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		check_purge(check_side(m));
		slabs = hosted_slabs_used();
		hosted_warnings(1);
		addr = HOSTED_CALL(vmap, check_side(m), m->pages, m->nr, VM_MAP, m->prot);
		seen = hosted_warnings(0);
		if (addr)
			return check_wrong(m, why, i, 0, (unsigned long)addr);
		if (seen != 1)
			return check_wrong(m, "warnings for an invalid page", i, 1, seen);
		if (space_mapped())
			return check_wrong(m, "pages mapped after an invalid page", i, 0,
					   space_mapped());
		check_purge(check_side(m));
		if (hosted_slabs_used() > slabs)
			return check_wrong(m, "slab objects after an invalid page", i, slabs,
					   hosted_slabs_used());
		m->check->runs++;
	}
	return 0;
}

/*
 * A NULL pointer or an invalid page in the array. The number of the invalid page has the
 * same lower bits as that of a valid page of the array, so their sections may be confused.
 */
static int check_bad_page(struct matrix *m)
{
	unsigned long i = check_random(m, m->nr);
	struct page *kept = m->pages[i];
	int err;

	m->pages[i] = check_random(m, 2) || check_leaves_invalid(m) ? NULL :
		      pfn_to_page(NO_PFN + page_to_pfn(m->pages[check_random(m, m->nr)]));
	err = check_rejected(m, "result with the invalid page", i);
	m->pages[i] = kept;
	return err;
}

/*
 * Pages that continue into a hole after @in pages: a run from below, or single pages from
 * above, which may be far away from the first. All other pages of the hole's section are
 * valid, and so is the last page.
 */
static int check_hole(struct matrix *m)
{
	unsigned long i, in = 1 + check_random(m, 2 * ARRAYS_BLOCK);
	unsigned long hole = ARRAYS_PFN + (2 + check_random(m, 32)) * ARRAYS_BLOCK;
	bool single = check_random(m, 2);
	int err;

	m->nr = in + 2 + check_random(m, ARRAYS_BLOCK - 1);
	for (i = 0; i < m->nr - 1; i++)
		m->pages[i] = pfn_to_page(single ? hole + ARRAYS_BLOCK - 1 + in - i :
						   hole - in + i);
	if (single && check_random(m, 2))
		m->pages[0] += ARRAYS_FAR;
	m->pages[i] = m->pages[0];
	hosted_hole_at(hole);
	err = check_rejected(m, "result with the hole at page", in);
	hosted_early_sections(1);
	return err;
}

/* Make empty tables of PTEs for the array at @addr. */
static int make_tables(struct matrix *m, unsigned long addr)
{
	unsigned long end = addr + m->nr * PAGE_SIZE;
	/* Out of phase, so that there are no huge mappings. */
	unsigned long pfn = ARRAYS_PFN + (addr >> PAGE_SHIFT) % ARRAYS_BLOCK + 1;

	if (HOSTED_CALL(vmap_page_range, HOSTED_BASE, addr, end, PFN_PHYS(pfn), PAGE_KERNEL))
		return check_wrong(m, "result of making tables", 0, 0, 1);
	HOSTED_CALL(vunmap_range, HOSTED_BASE, addr, end);
	return 0;
}

/*
 * The PTE for page @at is in use already, which is an error, unless a huge PMD mapping
 * replaces its table. vunmap() of the area clears this PTE too.
 */
static int check_in_use(struct matrix *m, unsigned long at, bool tables)
{
	unsigned int method;
	enum space_leaf leaf;
	unsigned long seen;
	void *addr, *was;

	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		check_purge(check_side(m));
		was = HOSTED_CALL(vmap, check_side(m), m->pages, m->nr, VM_MAP, m->prot);
		HOSTED_CALL(vunmap, check_side(m), was);
		check_purge(check_side(m));
		if (tables && make_tables(m, (unsigned long)was))
			return -1;
		if (HOSTED_CALL(vmap_page_range, HOSTED_BASE,
				(unsigned long)was + at * PAGE_SIZE,
				(unsigned long)was + (at + 1) * PAGE_SIZE,
				PFN_PHYS(ARRAYS_PFN), PAGE_KERNEL))
			return check_wrong(m, "result of mapping the PTE in use at page", at, 0, 1);
		hosted_warnings(1);
		addr = HOSTED_CALL(vmap, check_side(m), m->pages, m->nr, VM_MAP, m->prot);
		seen = hosted_warnings(0);
		space_translate((unsigned long)was + at * PAGE_SIZE, &leaf);
		if (addr && (leaf != SPACE_PMD || addr != was ||
			     check_translation(m, (unsigned long)addr, true)))
			return check_wrong(m, "result with the PTE in use at page", at, 0,
					   (unsigned long)addr);
		if (seen != !addr)
			return check_wrong(m, "warnings for the PTE in use at page", at, !addr, seen);
		if (addr)
			HOSTED_CALL(vunmap, check_side(m), addr);
		if (space_mapped())
			return check_wrong(m, "pages mapped after the PTE in use at page", at, 0,
					   space_mapped());
		m->check->runs++;
	}
	return 0;
}

/*
 * A block, for which a table is freed, and after it as many single pages, whose table must
 * stay. One PTE is in use, in one of these tables.
 */
static int check_after_block(struct matrix *m)
{
	unsigned long i;

	m->nr = 2 * ARRAYS_BLOCK;
	for (i = 0; i < ARRAYS_BLOCK; i++) {
		m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
		m->pages[m->nr - 1 - i] = pfn_to_page(ARRAYS_PFN + (i + 1) * ARRAYS_BLOCK);
	}
	memset(m->reference, 0, m->nr * sizeof(u64));
	return check_in_use(m, check_random(m, m->nr), true);
}

/*
 * vread_iter() must not see an area before everything is mapped. check_area() sees that
 * it does so afterwards.
 */
static int check_hidden(struct matrix *m)
{
	/* Small areas, which get no huge mapping, are not hidden. */
	const unsigned long flags = VM_MAP | (m->nr < 256 ? 0 : VM_UNINITIALIZED);
	struct vm_struct *area;
	unsigned int method;

	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		area = HOSTED_CALL_EXTRA(vmap_get_area, m->nr * PAGE_SIZE, VM_MAP, m->prot,
					 m->pages, NULL);
		if (!area || area->flags != flags)
			return check_wrong(m, "flags before mapping", 0, flags,
					   area ? area->flags : 0);
		HOSTED_CALL(vunmap, check_side(m), area->addr);
	}
	return 0;
}

/* One entry of the table begins or ends inside a page, or is empty. */
static int check_parts(struct matrix *m)
{
	struct scatterlist *sg = m->table->sgl + check_random(m, m->table->nents), kept = *sg;
	unsigned int part = check_random(m, PAGE_SIZE - 1) + 1;
	void *addr;

	switch (check_random(m, 3)) {
	case 0:
		sg->offset = part;
		break;
	case 1:
		sg->length -= part;
		break;
	case 2:
		sg->length = 0;
		break;
	}
	addr = HOSTED_CALL_EXTRA(vmap_sgt, m->table, m->prot);
	*sg = kept;
	if (addr || space_mapped())
		return check_wrong(m, "result with a part of a page at entry",
				   sg - m->table->sgl, 0, (unsigned long)addr);
	return 0;
}

int check_rejections(struct matrix *m)
{
	if (!check_is_posted(m) && (check_hidden(m) || check_parts(m)))
		return -1;
	if (check_in_use(m, check_random(m, m->nr), false) || check_bad_page(m))
		return -1;
	if (!check_leaves_invalid(m) && check_hole(m))
		return -1;
	return check_after_block(m);
}

/*
 * Let allocations fail: first all from the n-th on, for each n, and then the n-th
 * only. They allocate the area and each level of the page table. If only the
 * allocation of an aligned area fails, an area at any address must be used.
 */
static int check_failures(struct matrix *m, bool table)
{
	unsigned long after, slabs, alone;
	void *addr = NULL;

	check_purge(check_side(m));
	for (alone = 0; alone < 2; alone++) {
		for (after = 0; after < 16; after++) {
			slabs = hosted_slabs_used();
			space_forget_tables();
			hosted_allocations_fail(after, alone ? 1 : 1000);
			/* Some kernels warn if they can't split a free range. */
			hosted_warnings(1);
			addr = table ? HOSTED_CALL_EXTRA(vmap_sgt, m->table, m->prot) :
				       HOSTED_CALL(vmap, check_side(m), m->pages, m->nr, VM_MAP,
						   m->prot);
			hosted_warnings(0);
			hosted_allocations_fail(0, 0);
			if (alone && !after && !addr && !check_is_posted(m))
				return check_wrong(m, "result without an aligned area", 0, 1, 0);
			if (addr && check_translation(m, (unsigned long)addr,
						      !((unsigned long)addr % PMD_SIZE)))
				return -1;
			if (addr)
				HOSTED_CALL(vunmap, check_side(m), addr);
			if (space_mapped())
				return check_wrong(m, "pages mapped without memory, allocation",
						   after, 0, space_mapped());
			check_purge(check_side(m));
			if (hosted_slabs_used() > slabs + 1)
				return check_wrong(m, "slab objects without memory, allocation", after,
						   slabs, hosted_slabs_used());
			m->check->runs++;
		}
	}
	if (!addr)
		return check_wrong(m, "result with memory again", 0, 1, 0);
	return 0;
}

/*
 * No range of vmalloc space is large enough for an array that begins at an offset from a
 * block. What is after vmalloc space may not be used.
 */
static int check_no_space(struct matrix *m)
{
	unsigned long size = VMALLOC_END - VMALLOC_START, nr = 0, i;
	struct vm_struct *areas[128], *area;
	void *addr;

	check_purge(check_side(m));
	for (i = 0; i < 2 * ARRAYS_BLOCK; i++)
		m->pages[i] = pfn_to_page(ARRAYS_PFN + 1 + i);
	while (size >= PMD_SIZE && nr < ARRAY_SIZE(areas)) {
		/* An area that owns its pages is not aligned. */
		area = HOSTED_CALL_EXTRA(vmap_get_area, size, VM_MAP | VM_MAP_PUT_PAGES, m->prot,
					 m->pages, NULL);
		if (area)
			areas[nr++] = area;
		else
			size /= 2;
	}
	addr = HOSTED_CALL(vmap, check_side(m), m->pages, 2 * ARRAYS_BLOCK, VM_MAP, m->prot);
	for (i = 0; i < nr; i++)
		HOSTED_CALL(vunmap, check_side(m), areas[i]->addr);
	if (addr)
		return check_wrong(m, "result without address space", 0, 0, (unsigned long)addr);
	check_purge(check_side(m));
	m->check->runs++;
	return 0;
}

int check_no_memory(struct matrix *m)
{
	unsigned long i;

	/* The array begins with a block, so that an alignment is asked for. */
	m->nr = ARRAYS_BLOCK + 1 + check_random(m, ARRAYS_BLOCK);
	for (i = 0; i < m->nr; i++)
		m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
	arrays_table(m->table, m->pages, m->nr, &m->random);
	memset(m->reference, 0, m->nr * sizeof(u64));

	if (check_choose(m, CHECK_METHODS - 2) || check_failures(m, false))
		return -1;
	if (check_is_posted(m))
		return 0;
	if (check_failures(m, true))
		return -1;

	/* After the block, more single pages than vmap_sgt() collects, a run, and some again. */
	m->nr = ARRAYS_BLOCK + 300;
	for (i = ARRAYS_BLOCK; i < m->nr; i++) {
		if (i < ARRAYS_BLOCK + 100 || i >= ARRAYS_BLOCK + 200)
			m->pages[i] = pfn_to_page(ARRAYS_PFN + 3 * i);
		else
			m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
	}
	arrays_table(m->table, m->pages, m->nr, NULL);
	memset(m->reference, 0, m->nr * sizeof(u64));

	if (check_failures(m, true))
		return -1;
	return check_no_space(m);
}
