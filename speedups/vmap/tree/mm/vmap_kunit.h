/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_KUNIT_H
#define _MM_VMAP_KUNIT_H

/* What the tests of mm/vmap.c share. */

#include <kunit/test.h>
#include <linux/pgtable.h>
#include <linux/types.h>

/* What maps an address. */
enum vmap_kind {
	VMAP_NONE,
	VMAP_PAGE,
	VMAP_GROUP,	/* one of several PTEs that are one leaf to the CPU */
	VMAP_BLOCK,	/* a PMD leaf */
};

/**
 * struct vmap_leaf - what maps an address
 * @kind: how
 * @pfn: what is mapped there
 * @attributes: permissions and kind of memory, in the way of a PTE
 */
struct vmap_leaf {
	enum vmap_kind kind;
	unsigned long pfn;
	u64 attributes;
};

/**
 * struct vmap_want - what a mapping should be
 * @addr: its start
 * @nr: pages
 * @pages: what is mapped, or NULL for consecutive memory
 * @pfn: first of that
 * @prot: attributes
 * @max_shift: no leaf should be larger, and the largest that fits be there
 * @blocks: PMD leafs; counted by vmap_kunit_verify()
 * @groups: of PTEs that are one leaf; counted too
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

/* The memory of the tests: a block of order 10, and a compound page of order 9. */
#define VMAP_LOOSE	1024UL
#define VMAP_COMPOUND	512UL

struct vmap_room {
	struct page *loose;
	struct page *compound;
	struct page **pages;	/* VMAP_LOOSE of them, for any use */
	const char *found;
};

struct vmap_param {
	const char *name;
	bool large;		/* uses large leafs in vmap() */
	bool phase;		/* and finds addresses for them in phase with memory */
};

/* mm/vmap_kunit_leaf.c */
extern bool vmap_kunit_beside_readers;

struct vmap_leaf vmap_kunit_leaf(unsigned long addr);
u64 vmap_kunit_attributes(unsigned long pfn, pgprot_t prot);
bool vmap_kunit_verify(struct kunit *test, struct vmap_want *want);
bool vmap_kunit_is(struct kunit *test, unsigned long addr, unsigned long nr,
		   enum vmap_kind kind);
bool vmap_kunit_bytes(struct kunit *test, const struct vmap_want *want);

/* mm/vmap_kunit.c */
struct page *vmap_kunit_page(const struct vmap_room *room, unsigned long i);
void vmap_kunit_fill(struct vmap_room *room, unsigned long first, unsigned long nr);
struct vm_struct *vmap_kunit_area(unsigned long size, unsigned long flags);
bool vmap_kunit_told(const char *option);
unsigned int vmap_kunit_shift(const struct vmap_param *param, pgprot_t prot);

/* mm/vmap_kunit_users.c */
void vmap_kunit_range(struct kunit *test);
void vmap_kunit_vmalloc(struct kunit *test);
void vmap_kunit_sparse(struct kunit *test);
void vmap_kunit_map_ram(struct kunit *test);
void vmap_kunit_parts(struct kunit *test);
void vmap_kunit_percpu(struct kunit *test);
void vmap_kunit_owned(struct kunit *test);
void vmap_kunit_put_pages(struct kunit *test);
void vmap_kunit_attribute(struct kunit *test);

/* mm/vmap_kunit_later.c */
void vmap_kunit_read_only(struct kunit *test);
void vmap_kunit_again(struct kunit *test);
void vmap_kunit_vread(struct kunit *test);
void vmap_kunit_visit(struct kunit *test);

/* mm/vmap_kunit_edge.c */
void vmap_kunit_boundary(struct kunit *test);
void vmap_kunit_border(struct kunit *test);

/* mm/vmap_kunit_remap.c */
void vmap_kunit_remap(struct kunit *test);

/* mm/vmap_kunit_fail.c */
void vmap_kunit_bad_page(struct kunit *test);
void vmap_kunit_no_memory(struct kunit *test);
void vmap_kunit_no_table(struct kunit *test);
void vmap_kunit_no_space(struct kunit *test);

#endif /* _MM_VMAP_KUNIT_H */
