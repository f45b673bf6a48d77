/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_KUNIT_H
#define _MM_VMAP_KUNIT_H

/* Shared by the KUnit tests of mm/vmap.c. */

#include <kunit/test.h>
#include <linux/pgtable.h>
#include <linux/types.h>

/* What maps an address: nothing, or a leaf entry of the page table. */
enum vmap_kind {
	VMAP_NONE,
	VMAP_PAGE,	/* a PTE */
	VMAP_GROUP,	/* a PTE of a contiguous PTE block */
	VMAP_BLOCK,	/* a huge PMD mapping */
};

/**
 * struct vmap_leaf - the leaf entry that maps an address
 * @kind: its size
 * @pfn: of the page at the address
 * @attributes: permissions and memory type, encoded as in a PTE
 */
struct vmap_leaf {
	enum vmap_kind kind;
	unsigned long pfn;
	u64 attributes;
};

/**
 * struct vmap_want - what a mapping is expected to be
 * @addr: its start
 * @nr: number of pages
 * @pages: the pages, or NULL for contiguous memory
 * @pfn: first PFN of contiguous memory
 * @prot: attributes
 * @max_shift: log2 of the size of the largest leaf entries allowed; wherever leaf
 *	entries of up to this size fit, they are expected
 * @blocks: number of huge PMD mappings, counted by vmap_kunit_verify()
 * @groups: number of contiguous PTE blocks, also counted there
 */
struct vmap_want {
	unsigned long addr;
	unsigned long nr;
	struct page **pages;
	unsigned long pfn;
	pgprot_t prot;
	unsigned int max_shift;
	unsigned int blocks;
	unsigned int groups;
};

/* Pages in the two blocks of the fixture. The first one has order 10 and is not compound. */
#define VMAP_LOOSE	1024UL
#define VMAP_COMPOUND	512UL

/**
 * struct vmap_memory - the fixture of every case
 * @loose: VMAP_LOOSE contiguous pages that are not compound
 * @compound: a compound page of VMAP_COMPOUND pages
 * @pages: an array of VMAP_LOOSE pointers, filled by the case
 * @method_before: vmap.method before the case
 * @free_blocks_before: vmap_free_blocks before the case
 */
struct vmap_memory {
	struct page *loose;
	struct page *compound;
	struct page **pages;
	const char *method_before;
	unsigned int free_blocks_before;
};

struct vmap_param {
	const char *name;
	bool large;		/* vmap() uses leaf entries larger than a PTE */
	bool phase;		/* vmap() finds addresses in phase with the memory */
};

/* mm/vmap_kunit.c */
extern bool vmap_kunit_beside_readers;

struct vmap_leaf vmap_kunit_leaf(unsigned long addr);
u64 vmap_kunit_attributes(unsigned long pfn, pgprot_t prot);
bool vmap_kunit_verify(struct kunit *test, struct vmap_want *want);
bool vmap_kunit_expect_kind(struct kunit *test, unsigned long addr, unsigned long nr,
			    enum vmap_kind kind);
bool vmap_kunit_bytes(struct kunit *test, const struct vmap_want *want);
struct page *vmap_kunit_page(const struct vmap_memory *memory, unsigned long i);
void vmap_kunit_fill(struct vmap_memory *memory, unsigned long first, unsigned long nr);
struct vm_struct *vmap_kunit_area(unsigned long size, unsigned long flags);
bool vmap_kunit_booted_with(const char *option);
unsigned int vmap_kunit_shift(const struct vmap_param *param, pgprot_t prot);

/* mm/vmap_kunit_arrays.c */
void vmap_arrays(struct kunit *test);
void vmap_kunit_attribute(struct kunit *test);
void vmap_kunit_reuse(struct kunit *test);
void vmap_kunit_boundary(struct kunit *test);
void vmap_kunit_border(struct kunit *test);

/* mm/vmap_kunit_users.c */
void vmap_kunit_range(struct kunit *test);
void vmap_kunit_vmalloc(struct kunit *test);
void vmap_kunit_sparse(struct kunit *test);
void vmap_kunit_map_ram(struct kunit *test);
void vmap_kunit_parts(struct kunit *test);
void vmap_kunit_atomic(struct kunit *test);
void vmap_kunit_percpu(struct kunit *test);
void vmap_kunit_owned(struct kunit *test);
void vmap_kunit_put_pages(struct kunit *test);
void vmap_kunit_table(struct kunit *test);

/* mm/vmap_kunit_access.c */
void vmap_kunit_read_only(struct kunit *test);
void vmap_kunit_accessed(struct kunit *test);
void vmap_kunit_vread(struct kunit *test);
void vmap_kunit_visit(struct kunit *test);
void vmap_kunit_remap(struct kunit *test);

/* mm/vmap_kunit_readers.c */
void vmap_kunit_vread_hidden(struct kunit *test);
void vmap_kunit_vread_beside(struct kunit *test);
void vmap_kunit_vread_held(struct kunit *test);

/* mm/vmap_kunit_fail.c */
void vmap_kunit_bad_page(struct kunit *test);
void vmap_kunit_no_memory(struct kunit *test);
void vmap_kunit_no_table(struct kunit *test);
void vmap_kunit_no_space(struct kunit *test);

#endif /* _MM_VMAP_KUNIT_H */
