// SPDX-License-Identifier: GPL-2.0-only
/*
 * Decode the bytes of a fuzzer into an array of pages, and map it with vmap(),
 * vmalloc() or ioremap(). Each address must translate to its page, by leaf entries
 * as large as possible. After unmapping, nothing may be left. The results are not
 * compared with base, but with what the array says.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/vmalloc.h>

#include "hosted.h"
#include "arrays.h"
#include "check.h"
#include "space.h"

#define MOST		2600UL		/* pages of an array */
#define MEMORY		(256UL << 20)
/* An address without an area, for mappings that need none. */
#define BARE_ADDRESS	(VMALLOC_START + (1UL << 40))
/* Past the end of all physical memory. */
#define NO_PFN		(1UL << 40)

/*
 * The input is a head, which says how to map, and records. Each record appends pages
 * to the array, or changes the pages that are in it.
 */
enum { HEAD_METHOD, HEAD_CACHE, HEAD_SPACER, HEAD_KIND, HEAD_TROUBLE, HEAD_BYTES };
/* What maps the array. KIND_AREA is vmap(), and so are all values without a name. */
enum { KIND_AREA, KIND_BLOCKS, KIND_DEVICE, KIND_OWNED, KIND_SINGLES, KINDS = 8 };
enum { OP_RUN, OP_RUN_TOO, OP_NEXT, OP_BACKWARDS, OP_SWAP, OP_TWICE, OP_NULL, OP_NONE, OPS };

struct record {
	u8 op;		/* modulo OPS the operation; divided by OPS, the alignment of @place */
	u8 length[2];
	u8 place[3];
};

static const char *const methods[] = { "auto", "pmd", "runs", "base" };

/* What makes the mapping fail, if anything. */
enum trouble { NO_TROUBLE, NO_MEMORY, IN_USE };

struct fuzz {
	struct hosted_check *check;
	struct page **pages;
	unsigned long nr;
	unsigned long flags;
	bool bad;	/* a page is invalid */
	bool huge;
	bool phase;
	pgprot_t prot;
	enum trouble trouble;
	unsigned long where;	/* which allocation fails, or which PTE is in use */
};

static int wrong(const struct fuzz *f, const char *what, unsigned long i,
		 unsigned long expected, unsigned long got)
{
	hosted_format(f->check->text, sizeof(f->check->text),
		      "%lu pages, prot %#lx: %s %lu: got %#lx, expected %#lx", f->nr,
		      pgprot_val(f->prot), what, i, got, expected);
	return -1;
}

static bool is_none(const struct page *page)
{
	return !page || page == pfn_to_page(NO_PFN);
}

static bool is_bad(const struct fuzz *f)
{
	unsigned long i;

	for (i = 0; i < f->nr; i++) {
		if (is_none(f->pages[i]))
			return true;
	}
	return false;
}

static void put_run(struct fuzz *f, unsigned long pfn, unsigned long nr, long step)
{
	for (nr = min(nr, MOST - f->nr); nr; nr--, pfn += step)
		f->pages[f->nr++] = pfn_to_page(pfn);
}

static void obey(struct fuzz *f, const struct record *record)
{
	unsigned long length = record->length[0] | record->length[1] << 8;
	unsigned long place = record->place[0] | record->place[1] << 8 | record->place[2] << 16;
	unsigned long pfn = ARRAYS_PFN + (place << (record->op / OPS % 11)) % (2 * ARRAYS_FAR);
	unsigned long run = 1 + length % (2 * ARRAYS_BLOCK + 1);

	if (record->op % OPS >= OP_SWAP && !f->nr)
		return;
	switch (record->op % OPS) {
	case OP_RUN:
	case OP_RUN_TOO:
		put_run(f, pfn, run, 1);
		break;
	case OP_NEXT:
		if (f->nr && !is_none(f->pages[f->nr - 1]))
			pfn = page_to_pfn(f->pages[f->nr - 1]) + 1;
		put_run(f, pfn, run, 1);
		break;
	case OP_BACKWARDS:
		put_run(f, pfn + run, run, -1);
		break;
	case OP_SWAP:
		swap(f->pages[length % f->nr], f->pages[place % f->nr]);
		break;
	case OP_TWICE:
		f->pages[length % f->nr] = f->pages[place % f->nr];
		break;
	case OP_NULL:
		f->pages[place % f->nr] = NULL;
		break;
	case OP_NONE:
		f->pages[place % f->nr] = pfn_to_page(NO_PFN);
		break;
	}
}

static int compare(const struct fuzz *f, unsigned long addr)
{
	enum space_leaf leaf, kind = SPACE_PTE;
	unsigned long i, at;
	u64 pte, want;

	for (i = 0; i < f->nr; i++) {
		at = addr + i * PAGE_SIZE;
		if (!(at % PMD_SIZE))
			kind = f->huge && arrays_is_block(f->pages, f->nr, i) ?
			       SPACE_PMD : SPACE_PTE;
		pte = space_translate(at, &leaf);
		want = pte_val(mk_pte(f->pages[i], f->prot));
		if (pte != want)
			return wrong(f, "entry of page", i, want, pte);
		if (leaf != kind)
			return wrong(f, "kind of leaf entry of page", i, kind, leaf);
	}
	if (space_translate(addr - PAGE_SIZE, &leaf))
		return wrong(f, "entry before page", 0, 0, 1);
	if (space_translate(addr + f->nr * PAGE_SIZE, &leaf))
		return wrong(f, "guard page after page", i, 0, 1);
	return 0;
}

/* The mapping is gone, and the number of other mapped pages is as before. */
static int compare_gone(const struct fuzz *f, unsigned long addr, unsigned long mapped)
{
	enum space_leaf leaf;
	unsigned long i;

	for (i = 0; i < f->nr; i++) {
		if (space_translate(addr + i * PAGE_SIZE, &leaf))
			return wrong(f, "entry after unmapping page", i, 0, 1);
	}
	if (space_mapped() != mapped)
		return wrong(f, "pages mapped after", f->nr, mapped, space_mapped());
	return 0;
}

static void *map_area(const struct fuzz *f)
{
	return HOSTED_CALL(vmap, HOSTED_PATCHED, f->pages, f->nr, f->flags, f->prot);
}

/* Map another page where the area will be; returns the address of the area. */
static unsigned long use_entry(const struct fuzz *f)
{
	unsigned long addr = (unsigned long)map_area(f), at = addr + f->where * PAGE_SIZE;

	HOSTED_CALL(vunmap, HOSTED_PATCHED, (void *)addr);
	HOSTED_CALL(vm_unmap_aliases, HOSTED_PATCHED);
	if (!addr || HOSTED_CALL(vmap_page_range, HOSTED_BASE, at, at + PAGE_SIZE,
				 PFN_PHYS(ARRAYS_PFN), PAGE_KERNEL))
		hosted_die("can't put a PTE in use where the area will be");
	return addr;
}

/* A huge PMD mapping replaces the table that contains the PTE in use. */
static bool is_covered(const struct fuzz *f, unsigned long addr)
{
	enum space_leaf leaf;

	space_translate(addr + f->where * PAGE_SIZE, &leaf);
	return leaf == SPACE_PMD;
}

static int map_and_compare(struct fuzz *f)
{
	unsigned long mapped = space_mapped(), seen, addr, where = 0;
	int err = 0;

	if (f->trouble == IN_USE)
		where = use_entry(f);
	if (f->trouble == NO_MEMORY)
		hosted_allocations_fail(f->where % 16, f->where & 16 ? 1 : 1000);
	hosted_warnings(f->bad || f->trouble != NO_TROUBLE);
	addr = (unsigned long)map_area(f);
	seen = hosted_warnings(0);
	hosted_allocations_fail(0, 0);

	if (addr && (f->bad || (f->trouble == IN_USE &&
				(addr != where || !is_covered(f, addr)))))
		return wrong(f, "result", f->bad, 0, addr);
	if (!addr && !f->bad && f->trouble == NO_TROUBLE)
		return wrong(f, "result", f->bad, 1, addr);
	/* Without memory, some kernels warn if they can't split a free range. */
	if (f->trouble != NO_MEMORY && seen != !addr)
		return wrong(f, "warnings", f->bad, !addr, seen);
	if (addr) {
		if (f->huge && f->trouble != NO_MEMORY &&
		    !arrays_in_phase(f->pages, f->nr, addr, f->phase))
			err = wrong(f, "phase of the area", page_to_pfn(f->pages[0]), 0, addr);
		if (!err)
			err = compare(f, addr);
		HOSTED_CALL(vunmap, HOSTED_PATCHED, (void *)addr);
	}
	/* vunmap() clears the PTE in use too. */
	return err ?: compare_gone(f, addr ?: where ?: BARE_ADDRESS, mapped);
}

/* Make the array what this kind maps: whole blocks, or one run. */
static void adapt(struct fuzz *f, unsigned int kind)
{
	unsigned long i;

	if (kind == KIND_SINGLES)
		return;
	if (kind == KIND_BLOCKS)
		f->nr = ALIGN(f->nr, ARRAYS_BLOCK);
	for (i = 0; i < f->nr; i++) {
		if (kind == KIND_BLOCKS && i % ARRAYS_BLOCK == 0)
			f->pages[i] = pfn_to_page(ALIGN_DOWN(page_to_pfn(f->pages[i]),
							     ARRAYS_BLOCK));
		else if (i)
			f->pages[i] = f->pages[i - 1] + 1;
	}
}

/* Map without an area: vmalloc() by blocks or pages, or ioremap() from the first page on. */
static int map_bare(struct fuzz *f, unsigned int kind, unsigned long addr)
{
	unsigned long mapped = space_mapped(), end;
	int err;

	adapt(f, kind);
	end = addr + f->nr * PAGE_SIZE;
	f->huge = kind != KIND_SINGLES;
	if (kind == KIND_DEVICE)
		err = HOSTED_CALL(vmap_page_range, HOSTED_PATCHED, addr, end,
				  PFN_PHYS(page_to_pfn(f->pages[0])), f->prot);
	else
		err = HOSTED_CALL(__vmap_pages_range_noflush, HOSTED_PATCHED, addr, end, f->prot,
				  f->pages, kind == KIND_BLOCKS ? PMD_SHIFT : PAGE_SHIFT);
	if (err)
		return wrong(f, "result without an area", kind, 0, err);
	err = compare(f, addr);
	HOSTED_CALL(vunmap_range, HOSTED_PATCHED, addr, end);
	return err ?: compare_gone(f, addr, mapped);
}

/* Decode the rest of the head: what maps the array, and what makes it fail. */
static int map_by_head(struct fuzz *f, const unsigned char *head)
{
	unsigned int kind = head[HEAD_KIND] % KINDS, trouble = head[HEAD_TROUBLE];

	f->bad = is_bad(f);
	if (!f->bad && (kind == KIND_BLOCKS || kind == KIND_DEVICE || kind == KIND_SINGLES))
		return map_bare(f, kind, BARE_ADDRESS +
				(kind == KIND_BLOCKS ? 0 : head[HEAD_SPACER] * PAGE_SIZE));
	if (kind == KIND_OWNED) {
		f->flags |= VM_MAP_PUT_PAGES;
		f->huge = false;
	}
	if (trouble >= 128 && !f->bad) {
		f->trouble = IN_USE;
		f->where = (trouble - 128) * f->nr / 128;
	} else if (trouble && trouble < 128) {
		f->trouble = NO_MEMORY;
		f->where = trouble;
	}
	return map_and_compare(f);
}

int vmap_fuzz(const unsigned char *data, unsigned long size, struct hosted_check *check)
{
	static struct page **pages, **spacer;
	struct fuzz f = { .check = check };
	unsigned char head[HEAD_BYTES] = {};
	unsigned long slabs, cache, at;
	const char *method;
	void *before;
	int err;

	if (!pages) {
		pages = hosted_arena(ALIGN(MOST, ARRAYS_BLOCK) * sizeof(*pages));
		spacer = hosted_arena(256 * sizeof(*spacer));
		space_init(MEMORY);
		for (cache = 0; cache < 256; cache++)
			spacer[cache] = pfn_to_page(ARRAYS_PFN + 2 * cache);
		/* Never unmapped, so that the area after it begins at an odd address. */
		HOSTED_CALL(vmap, HOSTED_PATCHED, spacer, 1, VM_MAP, PAGE_KERNEL);
	}
	/* An empty input is valid too, because libFuzzer begins with one. */
	memcpy(head, data, min(size, sizeof(head)));
	f.pages = pages;
	method = methods[head[HEAD_METHOD] % ARRAY_SIZE(methods)];
	f.flags = VM_MAP;
	f.huge = strcmp(method, "runs") && strcmp(method, "base");
	f.phase = !strcmp(method, "auto");
	if (HOSTED_CALL_EXTRA(vmap_set_method, method) < 0)
		return wrong(&f, "rejected method", 0, 0, 1);
	cache = head[HEAD_CACHE] % 8;
	f.prot = __pgprot(pgprot_val(PAGE_KERNEL) | (cache & 1 ? _PAGE_PWT : 0) |
			  (cache & 2 ? _PAGE_PCD : 0) | (cache & 4 ? _PAGE_PAT : 0));

	/* Moves the array to another address. */
	before = HOSTED_CALL(vmap, HOSTED_PATCHED, spacer, 1 + head[HEAD_SPACER], VM_MAP,
			     PAGE_KERNEL);
	slabs = hosted_slabs_used();
	/* Tables in the way of a few blocks would stay, and map these by PTEs. */
	space_drop_tables();

	for (at = HEAD_BYTES; at + sizeof(struct record) <= size; at += sizeof(struct record))
		obey(&f, (const struct record *)(data + at));
	err = f.nr ? map_by_head(&f, head) : 0;

	HOSTED_CALL(vm_unmap_aliases, HOSTED_PATCHED);
	if (!err && hosted_slabs_used() > slabs)
		err = wrong(&f, "slab objects after vunmap()", 0, slabs, hosted_slabs_used());
	HOSTED_CALL(vunmap, HOSTED_PATCHED, before);
	HOSTED_CALL(vm_unmap_aliases, HOSTED_PATCHED);
	return err;
}
