// SPDX-License-Identifier: GPL-2.0-only
/*
 * Arrays of pages, mapped by the kernel's own code and by every method: each
 * address has to be translated to its page, with the same attributes, and the
 * leafs have to be as large as the method and the pages allow. After unmapping,
 * nothing may be left. Then the same for huge vmalloc() and ioremap(), and what
 * happens when a page is none, or there is no memory.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "check.h"
#include "space.h"

#define ARRAYS		4000UL
#define RANGES		2000UL
#define MOST		2600UL		/* pages of an array */
#define MEMORY		(256UL << 20)
/* Where no area is, for what has none. */
#define BARE_ADDRESS	(VMALLOC_START + (1UL << 40))
/* Outside all memory that there can be. */
#define NO_PFN		(1UL << 40)

static const struct {
	const char *name;
	bool pmd;
	bool phase;
} methods[] = {
	{ "runs" }, { "pmd", .pmd = true }, { "detect", .pmd = true },
	{ "auto", .pmd = true, .phase = true }, { "base" },
};

/* Each bit of the cache mode, the one that moves in large leafs among them. */
static const pgprotval_t cache_bits[] = {
	0, _PAGE_PWT, _PAGE_PCD, _PAGE_PWT | _PAGE_PCD, _PAGE_PAT,
	_PAGE_PAT | _PAGE_PWT, _PAGE_PAT | _PAGE_PCD,
};

static const unsigned long runs[] = { 1, 2, 15, 16, 17, 255, 256, 511, 512, 513, 1024, 1600 };

struct matrix {
	struct hosted_check *check;
	struct page **pages;
	u64 *reference;
	unsigned long number, nr;
	pgprot_t prot;
	const char *method;
	u64 random;
};

static int wrong(const struct matrix *m, const char *what, unsigned long i,
		 unsigned long want, unsigned long got)
{
	hosted_format(m->check->text, sizeof(m->check->text),
		      "array %lu, %lu pages, prot %#lx, method %s: %s %lu: %#lx and not %#lx",
		      m->number, m->nr, pgprot_val(m->prot), m->method, what, i, got, want);
	return -1;
}

static unsigned long random(struct matrix *m, unsigned long below)
{
	return arrays_random(&m->random) % below;
}

/* Runs of all lengths at all alignments, some in another order than in memory. */
static void make_array(struct matrix *m)
{
	unsigned long i = 0, one, other, pfn, run, order;
	unsigned long most = random(m, 4) ? 1 + random(m, MOST) : 1 + random(m, 20);

	while (i < most) {
		run = min(runs[random(m, ARRAY_SIZE(runs))], most - i);
		order = random(m, 11);
		pfn = ARRAYS_PFN + (random(m, 1UL << 21) << order) % (1UL << 22);
		if (random(m, 8) == 0 && i)
			pfn = page_to_pfn(m->pages[i - 1]) + 1;
		for (; run; run--)
			m->pages[i++] = pfn_to_page(pfn++);
	}
	m->nr = most;
	one = random(m, most);
	other = random(m, most);

	switch (random(m, 6)) {
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
	m->prot = __pgprot(pgprot_val(PAGE_KERNEL) |
			   cache_bits[random(m, ARRAY_SIZE(cache_bits))]);
}

static void purge(enum hosted_side side)
{
	HOSTED_CALL(vm_unmap_aliases, side);
}

/* Look at every address of a mapping, and at the one behind it. */
static int check_translation(const struct matrix *m, unsigned long addr, bool pmd)
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
		if (leaf != want)
			return wrong(m, "kind of leaf of page", i, want, leaf);
		if ((pte & PTE_PFN_MASK) != PFN_PHYS(page_to_pfn(m->pages[i])))
			return wrong(m, "address of page", i,
				     PFN_PHYS(page_to_pfn(m->pages[i])), pte & PTE_PFN_MASK);
		if (m->reference[i] && pte != m->reference[i])
			return wrong(m, "entry of page", i, m->reference[i], pte);
		m->reference[i] = pte;
	}
	pte = space_translate(addr + m->nr * PAGE_SIZE, &leaf);
	if (pte)
		return wrong(m, "guard behind page", i, 0, pte);
	m->check->bytes += m->nr * sizeof(u64);
	return 0;
}

static int check_area(const struct matrix *m, enum hosted_side side, bool pmd, bool phase)
{
	unsigned long slabs = hosted_slabs_used(), left;
	struct vm_struct *area;
	void *addr;

	addr = HOSTED_CALL(vmap, side, m->pages, m->nr, VM_MAP, m->prot);
	if (!addr)
		return wrong(m, "result", 0, 1, 0);
	area = HOSTED_CALL(find_vm_area, side, addr);
	if (!area || area->size != (m->nr + 1) * PAGE_SIZE)
		return wrong(m, "size of the area", 0, (m->nr + 1) * PAGE_SIZE,
			     area ? area->size : 0);
	if (area->addr != addr)
		return wrong(m, "start of the area", 0, (unsigned long)addr,
			     (unsigned long)area->addr);
	if (pmd && !arrays_in_phase(m->pages, m->nr, (unsigned long)addr, phase))
		return wrong(m, "phase of the area", page_to_pfn(m->pages[0]), 0,
			     (unsigned long)addr);
	if (check_translation(m, (unsigned long)addr, pmd))
		return -1;
	left = space_mapped();
	if (left != m->nr)
		return wrong(m, "pages mapped in all", 0, m->nr, left);

	HOSTED_CALL(vunmap, side, addr);
	left = space_mapped();
	if (left)
		return wrong(m, "pages mapped after vunmap()", 0, 0, left);
	/* Every other time, the next area goes somewhere else. */
	if (m->number % 2) {
		purge(side);
		if (hosted_slabs_used() > slabs)
			return wrong(m, "objects after vunmap()", 0, slabs, hosted_slabs_used());
	}
	m->check->runs++;
	return 0;
}

static int choose(struct matrix *m, unsigned int method)
{
	m->method = methods[method].name;
	if (HOSTED_CALL_EXTRA(vmap_set_method, m->method) < 0)
		return wrong(m, "method refused", method, 0, 1);
	return 0;
}

static int check_array(struct matrix *m)
{
	unsigned int i;

	memset(m->reference, 0, m->nr * sizeof(u64));
	m->method = "of the kernel as it is";
	if (check_area(m, HOSTED_BASE, false, false))
		return -1;
	for (i = 0; i < ARRAY_SIZE(methods); i++) {
		if (choose(m, i) || check_area(m, HOSTED_PATCHED, methods[i].pmd,
						methods[i].phase))
			return -1;
	}
	m->check->combinations++;
	return 0;
}

/*
 * Pages that the area owns: vrealloc() may shrink it, page by page from its end,
 * and what is in front of that has to stay.
 */
static int check_owned(struct matrix *m)
{
	unsigned long i, keep, owned = ARRAYS_BLOCK + 1 + random(m, ARRAYS_BLOCK), addr, end;
	unsigned int method;

	m->nr = owned;
	for (i = 0; i < owned; i++)
		m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
	memset(m->reference, 0, owned * sizeof(u64));

	for (method = 0; method < ARRAY_SIZE(methods); method++) {
		if (choose(m, method))
			return -1;
		addr = (unsigned long)HOSTED_CALL(vmap, HOSTED_PATCHED, m->pages, owned,
						  VM_MAP | VM_MAP_PUT_PAGES, m->prot);
		if (!addr)
			return wrong(m, "result with pages that the area owns", 0, 1, 0);
		end = addr + owned * PAGE_SIZE;
		if (check_translation(m, addr, false))
			return -1;
		keep = 1 + random(m, owned - 1);
		HOSTED_CALL(vunmap_range, HOSTED_PATCHED, addr + keep * PAGE_SIZE, end);
		m->nr = keep;
		if (check_translation(m, addr, false))
			return -1;
		m->nr = owned;
		if (space_mapped() != keep)
			return wrong(m, "pages mapped after shrinking", 0, keep, space_mapped());
		HOSTED_CALL(vunmap, HOSTED_PATCHED, (void *)addr);
		if (space_mapped())
			return wrong(m, "pages mapped after what was shrunk", 0, 0,
				     space_mapped());
		m->check->runs++;
	}
	return 0;
}

/* By every method: it is told, once; nothing is mapped, and nothing is kept. */
static int check_refused(struct matrix *m, const char *why, unsigned long i)
{
	unsigned long slabs, seen;
	unsigned int method;
	void *addr;

	for (method = 0; method < ARRAY_SIZE(methods); method++) {
		if (choose(m, method))
			return -1;
		purge(HOSTED_PATCHED);
		slabs = hosted_slabs_used();
		hosted_warnings(1);
		addr = HOSTED_CALL(vmap, HOSTED_PATCHED, m->pages, m->nr, VM_MAP, m->prot);
		seen = hosted_warnings(0);
		if (addr)
			return wrong(m, why, i, 0, (unsigned long)addr);
		if (seen != 1)
			return wrong(m, "warnings for a bad page", i, 1, seen);
		if (space_mapped())
			return wrong(m, "pages mapped after a bad page", i, 0, space_mapped());
		purge(HOSTED_PATCHED);
		if (hosted_slabs_used() > slabs)
			return wrong(m, "objects after a bad page", i, slabs,
				     hosted_slabs_used());
		m->check->runs++;
	}
	return 0;
}

/* A page that is none. */
static int check_bad_page(struct matrix *m)
{
	unsigned long i = random(m, m->nr);
	struct page *kept = m->pages[i];
	int err;

	m->pages[i] = random(m, 2) ? NULL : pfn_to_page(NO_PFN);
	err = check_refused(m, "result with the bad page", i);
	m->pages[i] = kept;
	return err;
}

/* Pages that follow each other, from memory into a hole: past it nothing is valid. */
static int check_hole(struct matrix *m)
{
	unsigned long i, in = 1 + random(m, 2 * ARRAYS_BLOCK);
	unsigned long hole = ARRAYS_PFN + (2 + random(m, 32)) * ARRAYS_BLOCK;
	int err;

	m->nr = in + 1 + random(m, ARRAYS_BLOCK);
	for (i = 0; i < m->nr; i++)
		m->pages[i] = pfn_to_page(hole - in + i);
	hosted_hole_at(hole);
	err = check_refused(m, "result with the hole at page", in);
	hosted_early_sections(1);
	return err;
}

/*
 * An entry that somebody else has made, or left behind, where vmap() will put the
 * page @at: an error. vunmap() of the area takes it away with the rest.
 */
static int check_in_use(struct matrix *m)
{
	unsigned long at = random(m, m->nr), seen;
	unsigned int method;
	void *addr, *was;

	for (method = 0; method < ARRAY_SIZE(methods); method++) {
		if (choose(m, method))
			return -1;
		purge(HOSTED_PATCHED);
		was = HOSTED_CALL(vmap, HOSTED_PATCHED, m->pages, m->nr, VM_MAP, m->prot);
		HOSTED_CALL(vunmap, HOSTED_PATCHED, was);
		purge(HOSTED_PATCHED);
		if (HOSTED_CALL(vmap_page_range, HOSTED_BASE,
				(unsigned long)was + at * PAGE_SIZE,
				(unsigned long)was + (at + 1) * PAGE_SIZE,
				PFN_PHYS(ARRAYS_PFN), PAGE_KERNEL))
			return wrong(m, "result of the entry in use", at, 0, 1);
		hosted_warnings(1);
		addr = HOSTED_CALL(vmap, HOSTED_PATCHED, m->pages, m->nr, VM_MAP, m->prot);
		seen = hosted_warnings(0);
		/* A large leaf takes the table away that the entry is in. */
		if (addr && (!methods[method].pmd || addr != was ||
			     check_translation(m, (unsigned long)addr, true)))
			return wrong(m, "result with the entry in use", at, 0,
				     (unsigned long)addr);
		if (seen != !addr)
			return wrong(m, "warnings for the entry in use", at, !addr, seen);
		if (addr)
			HOSTED_CALL(vunmap, HOSTED_PATCHED, addr);
		if (space_mapped())
			return wrong(m, "pages mapped after the entry in use", at, 0,
				     space_mapped());
		m->check->runs++;
	}
	return 0;
}

/*
 * No memory, at each allocation in turn: for the area, for each level of the page
 * table. Then one allocation that fails alone, which an area with an alignment
 * is given up for.
 */
static int check_no_memory(struct matrix *m)
{
	unsigned long after, slabs, alone, i;
	void *addr = NULL;

	/* Begins with a block, so that an alignment is asked for. */
	m->nr = ARRAYS_BLOCK + 1 + random(m, ARRAYS_BLOCK);
	for (i = 0; i < m->nr; i++)
		m->pages[i] = pfn_to_page(ARRAYS_PFN + i);
	memset(m->reference, 0, m->nr * sizeof(u64));

	if (choose(m, ARRAY_SIZE(methods) - 2))
		return -1;
	purge(HOSTED_PATCHED);
	for (alone = 0; alone < 2; alone++) {
		for (after = 0; after < 16; after++) {
			slabs = hosted_slabs_used();
			space_forget_tables();
			hosted_allocations_fail(after, alone ? 1 : 1000);
			/* Some kernels warn when they can't split what is free. */
			hosted_warnings(1);
			addr = HOSTED_CALL(vmap, HOSTED_PATCHED, m->pages, m->nr, VM_MAP,
					   m->prot);
			hosted_warnings(0);
			hosted_allocations_fail(0, 0);
			if (alone && !after && !addr)
				return wrong(m, "result without an aligned area", 0, 1, 0);
			if (addr && check_translation(m, (unsigned long)addr,
						      !((unsigned long)addr % PMD_SIZE)))
				return -1;
			if (addr)
				HOSTED_CALL(vunmap, HOSTED_PATCHED, addr);
			if (space_mapped())
				return wrong(m, "pages mapped without memory, allocation",
					     after, 0, space_mapped());
			purge(HOSTED_PATCHED);
			if (hosted_slabs_used() > slabs + 1)
				return wrong(m, "objects without memory, allocation", after,
					     slabs, hosted_slabs_used());
			m->check->runs++;
		}
	}
	if (!addr)
		return wrong(m, "result with memory again", 0, 1, 0);
	return 0;
}

/* Map without an area, by base and by every method; leafs have to be the same. */
static int check_bare(struct matrix *m, int (*map)(const struct matrix *m,
						   enum hosted_side side,
						   unsigned long addr),
		      unsigned long addr)
{
	enum space_leaf leaf;
	unsigned int method;
	unsigned long i;
	u64 pte;

	if (map(m, HOSTED_BASE, addr))
		return wrong(m, "result of the kernel as it is", 0, 0, 1);
	for (i = 0; i < m->nr; i++) {
		m->reference[i] = space_translate(addr + i * PAGE_SIZE, &leaf);
		m->reference[i] |= (u64)leaf << 60;
	}
	HOSTED_CALL(vunmap_range, HOSTED_BASE, addr, addr + m->nr * PAGE_SIZE);

	for (method = 0; method < ARRAY_SIZE(methods); method++) {
		if (choose(m, method))
			return -1;
		if (map(m, HOSTED_PATCHED, addr))
			return wrong(m, "result", 0, 0, 1);
		for (i = 0; i < m->nr; i++) {
			pte = space_translate(addr + i * PAGE_SIZE, &leaf);
			pte |= (u64)leaf << 60;
			if (pte != m->reference[i])
				return wrong(m, "entry of bare page", i, m->reference[i], pte);
		}
		if (space_mapped() != m->nr)
			return wrong(m, "bare pages mapped in all", 0, m->nr, space_mapped());
		HOSTED_CALL(vunmap_range, HOSTED_PATCHED, addr, addr + m->nr * PAGE_SIZE);
		if (space_mapped())
			return wrong(m, "bare pages mapped after", 0, 0, space_mapped());
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

static int map_device(const struct matrix *m, enum hosted_side side, unsigned long addr)
{
	return HOSTED_CALL(vmap_page_range, side, addr, addr + m->nr * PAGE_SIZE,
			   PFN_PHYS(page_to_pfn(m->pages[0])), m->prot);
}

/* Nothing at all, in blocks: base says that it is done, and does nothing. */
static int check_empty(struct matrix *m)
{
	unsigned int method;

	m->nr = 0;
	m->pages[0] = pfn_to_page(ARRAYS_PFN);
	if (map_blocks(m, HOSTED_BASE, BARE_ADDRESS))
		return wrong(m, "result of the kernel as it is", 0, 0, 1);
	for (method = 0; method < ARRAY_SIZE(methods); method++) {
		if (choose(m, method))
			return -1;
		if (map_blocks(m, HOSTED_PATCHED, BARE_ADDRESS))
			return wrong(m, "result of an empty range", 0, 0, 1);
		if (space_mapped())
			return wrong(m, "pages mapped by an empty range", 0, 0, space_mapped());
		m->check->runs++;
	}
	return 0;
}

/* Huge vmalloc() in blocks; devices anywhere, of any size and with any address. */
static int check_range(struct matrix *m)
{
	unsigned long i;

	m->prot = __pgprot(pgprot_val(PAGE_KERNEL) |
			   cache_bits[random(m, ARRAY_SIZE(cache_bits))]);
	if (random(m, 2)) {
		m->nr = ARRAYS_BLOCK * (1 + random(m, 5));
		for (i = 0; i < m->nr; i++) {
			if (i % ARRAYS_BLOCK)
				m->pages[i] = m->pages[i - 1] + 1;
			else
				m->pages[i] = pfn_to_page(ARRAYS_PFN +
							  random(m, 4096) * ARRAYS_BLOCK);
		}
		return check_bare(m, map_blocks, BARE_ADDRESS);
	}
	m->nr = 1 + random(m, MOST);
	m->pages[0] = pfn_to_page(ARRAYS_PFN + (random(m, 1UL << 20) << random(m, 11)));
	return check_bare(m, map_device, BARE_ADDRESS + (random(m, 1024) << random(m, 10)) *
			  PAGE_SIZE);
}

int vmap_check(struct hosted_check *check)
{
	struct matrix m = { .check = check };
	unsigned long i;

	m.pages = hosted_arena((MOST + 1) * sizeof(*m.pages));
	m.reference = hosted_arena((MOST + 1) * sizeof(*m.reference));
	space_init(MEMORY);

	for (i = 0; i < ARRAYS; i += check->stride) {
		m.number = i;
		m.random = i;
		hosted_layout = i % HOSTED_LAYOUTS;
		make_array(&m);
		if (check_array(&m))
			return -1;
		if (i / check->stride % 16 == 0 &&
		    (check_in_use(&m) || check_bad_page(&m) || check_hole(&m) ||
		     check_owned(&m)))
			return -1;
		if (i / check->stride % 64 == 0 && check_no_memory(&m))
			return -1;
	}
	for (i = 0; i < RANGES; i += check->stride) {
		m.number = i;
		m.random = ~i;
		hosted_layout = i % HOSTED_LAYOUTS;
		if (check_range(&m))
			return -1;
	}
	return check_empty(&m);
}
