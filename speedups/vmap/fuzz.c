// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bytes of a fuzzer, taken for an array of pages: each address that vmap() gives
 * it has to be translated to its page. No other code is the oracle.
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
#define PMD_PAGES	512UL
/* Outside all memory that there can be. */
#define NO_PFN		(1UL << 40)

/*
 * The head says how, and each record behind it what follows in the array, or what
 * is done with what is there.
 */
enum { HEAD_METHOD, HEAD_CACHE, HEAD_SPACER, HEAD_BYTES };
enum { OP_RUN, OP_RUN_TOO, OP_NEXT, OP_BACKWARDS, OP_SWAP, OP_TWICE, OP_NULL, OP_NONE, OPS };

struct record {
	u8 op;		/* and, above that, how the place is aligned */
	u8 length[2];
	u8 place[3];
};

static const char *const methods[] = { "auto", "detect", "pmd", "runs", "base" };

struct fuzz {
	struct hosted_check *check;
	struct page **pages;
	unsigned long nr;
	bool bad;	/* a page is none */
	bool huge;
	pgprot_t prot;
};

static int wrong(const struct fuzz *f, const char *what, unsigned long i,
		 unsigned long want, unsigned long got)
{
	hosted_format(f->check->text, sizeof(f->check->text),
		      "%lu pages, prot %#lx: %s %lu: %#lx and not %#lx", f->nr,
		      pgprot_val(f->prot), what, i, got, want);
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
	unsigned long pfn = ARRAYS_PFN + (place << (record->op / OPS % 11)) % (1UL << 22);
	unsigned long run = 1 + length % (2 * PMD_PAGES + 1);

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
	enum space_leaf leaf;
	unsigned long i;
	u64 pte, want;

	for (i = 0; i < f->nr; i++) {
		pte = space_translate(addr + i * PAGE_SIZE, &leaf);
		want = pte_val(mk_pte(f->pages[i], f->prot));
		if (pte != want)
			return wrong(f, "entry of page", i, want, pte);
		if (leaf == SPACE_PMD && !f->huge)
			return wrong(f, "leaf of page", i, SPACE_PTE, leaf);
	}
	if (space_translate(addr - PAGE_SIZE, &leaf))
		return wrong(f, "entry in front of page", 0, 0, 1);
	if (space_translate(addr + f->nr * PAGE_SIZE, &leaf))
		return wrong(f, "guard behind page", i, 0, 1);
	return 0;
}

static int map_and_compare(struct fuzz *f)
{
	unsigned long seen;
	void *addr;
	int err;

	f->bad = is_bad(f);
	hosted_warnings(f->bad);
	addr = HOSTED_CALL(vmap, HOSTED_PATCHED, f->pages, f->nr, VM_MAP, f->prot);
	seen = hosted_warnings(0);
	if (!addr != f->bad)
		return wrong(f, "result", f->bad, !f->bad, (unsigned long)addr);
	if (seen != f->bad)
		return wrong(f, "warnings", f->bad, f->bad, seen);
	if (!addr)
		return 0;

	err = compare(f, (unsigned long)addr);
	HOSTED_CALL(vunmap, HOSTED_PATCHED, addr);
	return err;
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
		pages = hosted_arena(MOST * sizeof(*pages));
		spacer = hosted_arena(256 * sizeof(*spacer));
		space_init(MEMORY);
		for (cache = 0; cache < 256; cache++)
			spacer[cache] = pfn_to_page(ARRAYS_PFN + 2 * cache);
		/* Stays, so that what is behind it begins where an area may begin. */
		HOSTED_CALL(vmap, HOSTED_PATCHED, spacer, 1, VM_MAP, PAGE_KERNEL);
	}
	/* Even no bytes say something, or libFuzzer would not know where to begin. */
	memcpy(head, data, min(size, sizeof(head)));
	f.pages = pages;
	method = methods[head[HEAD_METHOD] % ARRAY_SIZE(methods)];
	f.huge = strcmp(method, "runs") && strcmp(method, "base");
	if (HOSTED_CALL_EXTRA(vmap_set_method, method) < 0)
		return wrong(&f, "method refused", 0, 0, 1);
	cache = head[HEAD_CACHE] % 8;
	f.prot = __pgprot(pgprot_val(PAGE_KERNEL) | (cache & 1 ? _PAGE_PWT : 0) |
			  (cache & 2 ? _PAGE_PCD : 0) | (cache & 4 ? _PAGE_PAT : 0));

	/* Puts the array at another address. */
	before = HOSTED_CALL(vmap, HOSTED_PATCHED, spacer, 1 + head[HEAD_SPACER], VM_MAP,
			     PAGE_KERNEL);
	slabs = hosted_slabs_used();

	for (at = HEAD_BYTES; at + sizeof(struct record) <= size; at += sizeof(struct record))
		obey(&f, (const struct record *)(data + at));
	err = f.nr ? map_and_compare(&f) : 0;

	HOSTED_CALL(vm_unmap_aliases, HOSTED_PATCHED);
	if (!err && hosted_slabs_used() > slabs)
		err = wrong(&f, "objects after vunmap()", 0, slabs, hosted_slabs_used());
	HOSTED_CALL(vunmap, HOSTED_PATCHED, before);
	HOSTED_CALL(vm_unmap_aliases, HOSTED_PATCHED);
	return err;
}
