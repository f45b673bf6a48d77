// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map arrays of pages with the kernel's own code and with every method. Each address
 * must translate to its page with the same attributes, by leaf entries as large as
 * the method and the pages allow. After unmapping, nothing may be left.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "check.h"
#include "matrix.h"
#include "space.h"

#define ARRAYS		4000UL
#define MEMORY		(256UL << 20)

const struct matrix_method check_methods[CHECK_METHODS] = {
	{ "runs" }, { "pmd", .pmd = true },
	{ "auto", .pmd = true, .phase = true }, { "base" },
};

/* All bits of the cache mode, including PAT, which is another bit in a huge mapping. */
static const pgprotval_t cache_bits[] = {
	0, _PAGE_PWT, _PAGE_PCD, _PAGE_PWT | _PAGE_PCD, _PAGE_PAT,
	_PAGE_PAT | _PAGE_PWT, _PAGE_PAT | _PAGE_PCD,
};

static const unsigned long runs[] = { 1, 2, 15, 16, 17, 255, 256, 511, 512, 513, 1024, 1600 };

#ifndef HOSTED_POSTED_LABELS
#define HOSTED_POSTED_LABELS
#endif

bool check_leaves_invalid(const struct matrix *m)
{
	static const char *const ours[] = { "x86", "check", "ranges", "blocks", "runs", "clear",
					    "area", "arm64", "kunit", "internal", "reuse" };
	/* The last label is followed by an empty string, which it continues. */
	static const char *const labels[] = { HOSTED_POSTED_LABELS "" };
	const char *label, *name;
	unsigned int i;

	if (!check_is_posted(m))
		return false;
	label = labels[check_side(m) - HOSTED_POSTED];
	if (!strcmp(label, "core"))
		return true;
	name = strchr(label, ' ');
	for (i = 0; name && i < ARRAY_SIZE(ours); i++) {
		if (!strcmp(name + 1, ours[i]))
			return true;
	}
	return false;
}

int check_wrong(const struct matrix *m, const char *what, unsigned long i,
		unsigned long expected, unsigned long got)
{
	hosted_format(m->check->text, sizeof(m->check->text),
		      "array %lu, %lu pages, prot %#lx, method %s: %s %lu: got %#lx, expected %#lx",
		      m->number, m->nr, pgprot_val(m->prot), m->method, what, i, got, expected);
	return -1;
}

unsigned long check_random(struct matrix *m, unsigned long below)
{
	return arrays_random(&m->random) % below;
}

pgprot_t check_random_prot(struct matrix *m)
{
	return __pgprot(pgprot_val(PAGE_KERNEL) |
			cache_bits[check_random(m, ARRAY_SIZE(cache_bits))]);
}

/* Fill the array with runs of all lengths and alignments, and disturb the order of some. */
void check_fill(struct matrix *m)
{
	unsigned long i = 0, one, other, pfn, run, order;
	unsigned long most = 1 + check_random(m, check_random(m, 4) ? MATRIX_MOST : 20);
	unsigned long far = check_random(m, 4) ? 0 : ARRAYS_FAR;

	while (i < most) {
		run = min(runs[check_random(m, ARRAY_SIZE(runs))], most - i);
		order = check_random(m, 11);
		pfn = ARRAYS_PFN + (check_random(m, 1UL << 21) << order) % (1UL << 22) +
		      check_random(m, 2) * far;
		if (check_random(m, 8) == 0 && i)
			pfn = page_to_pfn(m->pages[i - 1]) + 1;
		for (; run; run--)
			m->pages[i++] = pfn_to_page(pfn++);
	}
	m->nr = most;
	one = check_random(m, most);
	other = check_random(m, most);

	switch (check_random(m, 6)) {
	case 0:	/* two exchanged */
		swap(m->pages[one], m->pages[other]);
		break;
	case 1:	/* one twice */
		m->pages[one] = m->pages[other];
		break;
	case 2:	/* backwards */
		for (i = 0; i < most / 2; i++)
			swap(m->pages[i], m->pages[most - 1 - i]);
		break;
	}
	m->prot = check_random_prot(m);
}

void check_purge(enum hosted_side side)
{
	HOSTED_CALL(vm_unmap_aliases, side);
}

int check_translation(const struct matrix *m, unsigned long addr, bool pmd)
{
	enum space_leaf leaf, want = SPACE_PTE;
	unsigned long i, at;
	u64 pte;

	for (i = 0; i < m->nr; i++) {
		at = addr + i * PAGE_SIZE;
		if (!(at % PMD_SIZE) || !i)
			want = pmd && !(at % PMD_SIZE) &&
			       arrays_is_block(m->pages, m->nr, i) ? SPACE_PMD : SPACE_PTE;
		pte = space_translate(at, &leaf);
		/* Posted code may choose other sizes: only what they translate to counts. */
		if (leaf != want && !check_is_posted(m))
			return check_wrong(m, "kind of leaf entry of page", i, want, leaf);
		if ((pte & PTE_PFN_MASK) != PFN_PHYS(page_to_pfn(m->pages[i])))
			return check_wrong(m, "address of page", i,
					   PFN_PHYS(page_to_pfn(m->pages[i])), pte & PTE_PFN_MASK);
		if (m->reference[i] && pte != m->reference[i])
			return check_wrong(m, "entry of page", i, m->reference[i], pte);
		m->reference[i] = pte;
	}
	pte = space_translate(addr + m->nr * PAGE_SIZE, &leaf);
	if (pte)
		return check_wrong(m, "guard page after page", i, 0, pte);
	m->check->bytes += m->nr * sizeof(u64);
	return 0;
}

/* Check the area at @addr, in which @side has mapped the array, and unmap it. */
static int check_area(const struct matrix *m, enum hosted_side side, void *addr, bool pmd,
		      bool phase)
{
	struct vm_struct *area;
	unsigned long left;

	if (!addr)
		return check_wrong(m, "result", 0, 1, 0);
	area = HOSTED_CALL(find_vm_area, side, addr);
	if (!area || area->size != (m->nr + 1) * PAGE_SIZE)
		return check_wrong(m, "size of the area", 0, (m->nr + 1) * PAGE_SIZE,
				   area ? area->size : 0);
	if ((unsigned long)addr < VMALLOC_START ||
	    (unsigned long)addr + area->size > VMALLOC_END)
		return check_wrong(m, "area in vmalloc space", 0, VMALLOC_START,
				   (unsigned long)addr);
	if (area->flags != VM_MAP)
		return check_wrong(m, "flags of the area", 0, VM_MAP, area->flags);
	if (area->addr != addr)
		return check_wrong(m, "start of the area", 0, (unsigned long)addr,
				   (unsigned long)area->addr);
	if (pmd && !arrays_in_phase(m->pages, m->nr, (unsigned long)addr, phase))
		return check_wrong(m, "phase of the area", page_to_pfn(m->pages[0]), 0,
				   (unsigned long)addr);
	if (check_translation(m, (unsigned long)addr, pmd))
		return -1;
	left = space_mapped();
	if (left != m->nr)
		return check_wrong(m, "pages mapped in all", 0, m->nr, left);

	HOSTED_CALL(vunmap, side, addr);
	left = space_mapped();
	if (left)
		return check_wrong(m, "pages mapped after vunmap()", 0, 0, left);
	return 0;
}

static int check_mapping(const struct matrix *m, enum hosted_side side, bool table,
			 bool pmd, bool phase)
{
	unsigned long slabs = hosted_slabs_used();
	void *addr;

	/* Tables in the way of a few blocks would stay, and map these by PTEs. */
	space_drop_tables();
	addr = table ? HOSTED_CALL_EXTRA(vmap_sgt, m->table, m->prot) :
		       HOSTED_CALL(vmap, side, m->pages, m->nr, VM_MAP, m->prot);
	if (check_area(m, side, addr, pmd, phase))
		return -1;
	/* Purge every other time, so that some areas get new addresses. */
	if (m->number % 2) {
		check_purge(side);
		if (hosted_slabs_used() > slabs)
			return check_wrong(m, "slab objects after vunmap()", 0, slabs,
					   hosted_slabs_used());
	}
	m->check->runs++;
	return 0;
}

int check_choose(struct matrix *m, unsigned int method)
{
	m->method = check_is_posted(m) ? "posted" : check_methods[method].name;
	if (!check_is_posted(m) &&
	    HOSTED_CALL_EXTRA(vmap_set_method, m->method) < 0)
		return check_wrong(m, "rejected method", method, 0, 1);
	return 0;
}

static int check_array(struct matrix *m)
{
	unsigned int i;

	memset(m->reference, 0, m->nr * sizeof(u64));
	m->method = "of base";
	arrays_table(m->table, m->pages, m->nr, &m->random);
	if (check_mapping(m, HOSTED_BASE, false, false, false))
		return -1;
	for (i = 0; i < check_nr_methods(m); i++) {
		const struct matrix_method *method = check_methods + i;

		if (check_choose(m, i) ||
		    check_mapping(m, check_side(m), false, method->pmd, method->phase))
			return -1;
		if (!check_is_posted(m) &&
		    check_mapping(m, HOSTED_PATCHED, true, method->pmd, method->phase))
			return -1;
	}
	m->check->combinations++;
	return 0;
}

/*
 * The area owns its pages. vrealloc() may unmap any number of pages at its end, and
 * the pages before them must stay mapped.
 */
static int check_owned(struct matrix *m)
{
	unsigned long i, keep, owned = ARRAYS_BLOCK + 1 + check_random(m, ARRAYS_BLOCK), addr, end;
	unsigned int method;

	m->nr = owned;
	for (i = 0; i < owned; i++)
		m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
	memset(m->reference, 0, owned * sizeof(u64));
	hosted_format(m->check->text, sizeof(m->check->text),
		      "array %lu, of an area that owns its %lu pages, prot %#lx", m->number, owned,
		      pgprot_val(m->prot));

	for (method = 0; method < check_nr_methods(m); method++) {
		if (check_choose(m, method))
			return -1;
		addr = (unsigned long)HOSTED_CALL(vmap, check_side(m), m->pages, owned,
						  VM_MAP | VM_MAP_PUT_PAGES, m->prot);
		if (!addr)
			return check_wrong(m, "result with pages that the area owns", 0, 1, 0);
		end = addr + owned * PAGE_SIZE;
		if (check_translation(m, addr, false))
			return -1;
		keep = 1 + check_random(m, owned - 1);
		HOSTED_CALL(vunmap_range, check_side(m), addr + keep * PAGE_SIZE, end);
		if (space_mapped() != keep)
			return check_wrong(m, "pages mapped after shrinking", 0, keep,
					   space_mapped());
		m->nr = keep;
		if (check_translation(m, addr, false))
			return -1;
		m->nr = owned;
		HOSTED_CALL(vunmap, check_side(m), (void *)addr);
		if (space_mapped())
			return check_wrong(m, "pages mapped after unmapping the rest", 0, 0,
					   space_mapped());
		m->check->runs++;
	}
	return 0;
}

/* Leave tables of PTEs for the first @nr pages of the next area, and none after them. */
static void leave_tables(struct matrix *m, enum hosted_side side, unsigned long nr)
{
	check_purge(side);
	space_drop_tables();
	arrays_scattered(m->pages, nr, 1);
	HOSTED_CALL(vunmap, side, HOSTED_CALL(vmap, side, m->pages, nr, VM_MAP, m->prot));
	check_purge(side);
}

/*
 * Huge PMD mappings in the place of tables of PTEs cost one flush together, of one page if it is
 * one table. Fewer than eight, with single pages up to there, leave the tables as they are.
 * Nothing else costs a flush. After the others comes what only looks like a block.
 */
static int check_flushes(struct matrix *m, unsigned long blocks, unsigned long tables)
{
	const unsigned long rest = (blocks < 8 ? 8 - blocks : 1) * ARRAYS_BLOCK;
	arrays_fn *const fill = blocks < 8 ? arrays_scattered : arrays_swapped;
	unsigned int i, kind;
	unsigned long before;
	enum space_leaf leaf;
	void *addr;

	if (check_is_posted(m))
		return 0;
	/* By vmap(), by vmap_sgt(), and by base. */
	for (i = 0; i < 3 * CHECK_METHODS; i++) {
		const struct matrix_method *method = check_methods + i / 3;
		const enum hosted_side side = i % 3 == 2 ? HOSTED_BASE : check_side(m);
		const bool huge = i % 3 < 2 && method->pmd, freed = huge && blocks >= 8;

		if (check_choose(m, i / 3))
			return -1;
		leave_tables(m, side, tables * ARRAYS_BLOCK);
		m->nr = blocks * ARRAYS_BLOCK;
		arrays_order9(m->pages, m->nr, i);
		fill(m->pages + m->nr, rest, i);
		m->nr += rest;
		arrays_table(m->table, m->pages, m->nr, NULL);
		before = hosted_flushes();
		addr = i % 3 == 1 ? HOSTED_CALL_EXTRA(vmap_sgt, m->table, m->prot) :
				    HOSTED_CALL(vmap, side, m->pages, m->nr, VM_MAP, m->prot);
		if (hosted_flushes() - before != freed)
			return check_wrong(m, "flushes for huge mappings", i, freed,
					   hosted_flushes() - before);
		if (freed && (hosted_flushed() <= PAGE_SIZE) != (tables == 1))
			return check_wrong(m, "bytes flushed for huge mappings", i, tables,
					   hosted_flushed());
		space_translate((unsigned long)addr, &leaf);
		kind = freed ? SPACE_PMD : SPACE_PTE;
		if (leaf != kind)
			return check_wrong(m, "kind of leaf entry where a table was", i, kind, leaf);
		space_translate((unsigned long)addr + blocks * PMD_SIZE, &leaf);
		if (leaf != SPACE_PTE)
			return check_wrong(m, "kind of leaf entry after blocks", i, SPACE_PTE,
					   leaf);
		HOSTED_CALL(vunmap, side, addr);
		m->check->runs++;
	}
	return 0;
}

/* Huge vmalloc() asked for huge mappings, so it gets them whatever is in the way. */
static int check_blocks_in_way(struct matrix *m)
{
	const unsigned long addr = VMALLOC_START + (1UL << 40);
	const unsigned long end = addr + PMD_SIZE;
	enum space_leaf leaf;
	unsigned int i;

	if (check_is_posted(m))
		return 0;
	for (i = 0; i < CHECK_METHODS; i++) {
		if (check_choose(m, i))
			return -1;
		arrays_order9(m->pages, ARRAYS_BLOCK, i);
		if (HOSTED_CALL(__vmap_pages_range_noflush, check_side(m), addr, end, m->prot,
				m->pages, PAGE_SHIFT))
			return check_wrong(m, "result of mapping single pages", i, 0, 1);
		HOSTED_CALL(vunmap_range, check_side(m), addr, end);
		if (HOSTED_CALL(__vmap_pages_range_noflush, check_side(m), addr, end, m->prot,
				m->pages, PMD_SHIFT))
			return check_wrong(m, "result of mapping a block", i, 0, 1);
		space_translate(addr, &leaf);
		if (leaf != SPACE_PMD)
			return check_wrong(m, "kind of leaf entry of a block", i, SPACE_PMD, leaf);
		HOSTED_CALL(vunmap_range, check_side(m), addr, end);
		m->check->runs++;
	}
	return 0;
}

int vmap_check(struct hosted_check *check)
{
	struct sg_table table;
	struct matrix m = { .check = check, .table = &table };
	const unsigned long most = max(MATRIX_MOST, 9 * ARRAYS_BLOCK);
	unsigned long i;

	m.pages = hosted_arena((most + 1) * sizeof(*m.pages));
	table.sgl = hosted_arena((most + 2) * sizeof(*table.sgl));
	m.reference = hosted_arena((MATRIX_MOST + 1) * sizeof(*m.reference));
	space_init(MEMORY);

	for (i = 0; i < ARRAYS; i += check->stride) {
		m.number = i;
		m.random = i;
		hosted_layout = i % HOSTED_LAYOUTS;
		check_fill(&m);
		hosted_format(check->text, sizeof(check->text), "array %lu, %lu pages, prot %#lx",
			      i, m.nr, pgprot_val(m.prot));
		if (check_array(&m))
			return -1;
		if (i / check->stride % 16 == 0 && (check_rejections(&m) || check_owned(&m)))
			return -1;
		if (i / check->stride % 64 == 0 && check_no_memory(&m))
			return -1;
	}
	if (check_flushes(&m, 7, 7) || check_flushes(&m, 8, 1) || check_flushes(&m, 8, 8) ||
	    check_blocks_in_way(&m))
		return -1;
	return check_ranges(&m);
}
