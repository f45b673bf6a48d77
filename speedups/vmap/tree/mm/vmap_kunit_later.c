// SPDX-License-Identifier: GPL-2.0-only
/* What is done to a mapping later: other rights, other leafs, readers that walk it. */

#include <linux/mm.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define ROUNDS	48

/* x86 splits the leaf, and arm64 refuses. */
void vmap_kunit_read_only(struct kunit *test)
{
	struct vmap_room *room = test->priv;
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = room->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long one, i;
	u64 usual;
	void *addr;

	if (!IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_ARM64))
		kunit_skip(test, "not known what this architecture does");
	vmap_kunit_fill(room, 0, BLOCK);
	addr = vmap(room->pages, BLOCK, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	one = want.addr + 5 * PAGE_SIZE;
	usual = vmap_kunit_leaf(one).attributes;
	if (IS_ENABLED(CONFIG_ARM64)) {
		KUNIT_EXPECT_EQ(test, set_memory_ro(one, 1), -EINVAL);
		vmap_kunit_verify(test, &want);
		vunmap(addr);
		return;
	}
	KUNIT_EXPECT_EQ(test, set_memory_ro(one, 1), 0);
	for (i = 0; i < BLOCK; i++) {
		struct vmap_leaf leaf = vmap_kunit_leaf(want.addr + i * PAGE_SIZE);

		KUNIT_EXPECT_EQ(test, leaf.pfn, page_to_pfn(room->pages[i]));
		if (i == 5)
			KUNIT_EXPECT_NE(test, leaf.attributes, usual);
		else
			KUNIT_EXPECT_EQ(test, leaf.attributes, usual);
	}
	KUNIT_EXPECT_EQ(test, set_memory_rw(one, 1), 0);
	vmap_kunit_bytes(test, &want);
	vunmap(addr);
}

/* The same addresses, with leafs of other sizes each time. */
void vmap_kunit_again(struct kunit *test)
{
	struct vmap_room *room = test->priv;
	struct vm_struct *area = vmap_kunit_area(BLOCK * PAGE_SIZE, VM_MAP);
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = room->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long round, i, end;

	KUNIT_ASSERT_NOT_NULL(test, area);
	want.addr = (unsigned long)area->addr;
	end = want.addr + BLOCK * PAGE_SIZE;
	for (round = 0; round < ROUNDS; round++) {
		for (i = 0; i < BLOCK; i++) {
			unsigned long at[] = { i, i * 5 + 1, (i ^ 256) + BLOCK };

			room->pages[i] = vmap_kunit_page(room, at[round % 3] % VMAP_LOOSE);
		}
		KUNIT_EXPECT_EQ(test, vmap_map_pages(want.addr, end, PAGE_KERNEL, room->pages,
						     VM_MAP), 0);
		if (vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
		vunmap_range(want.addr, end);
		vmap_kunit_is(test, want.addr, BLOCK, VMAP_NONE);
		if (READ_ONCE(test->status) == KUNIT_FAILURE)
			break;
		cond_resched();
	}
	free_vm_area(area);
}

/* Whoever reads /proc/kcore gets the bytes that are there. */
void vmap_kunit_vread(struct kunit *test)
{
	struct vmap_room *room = test->priv;
	struct vmap_want want = { .nr = BLOCK + 40, .pages = room->pages };
	struct kvec vec = { .iov_len = PAGE_SIZE };
	unsigned long i;
	void *addr;

	vec.iov_base = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);
	vmap_kunit_fill(room, 0, want.nr);
	addr = vmap(room->pages, want.nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	vmap_kunit_bytes(test, &want);
	for (i = 0; i < want.nr - 1; i++) {
		const char *from = addr + i * PAGE_SIZE + PAGE_SIZE / 2;
		struct iov_iter iter;

		memset(vec.iov_base, 0, PAGE_SIZE);
		iov_iter_kvec(&iter, ITER_DEST, &vec, 1, PAGE_SIZE);
		if (vread_iter(&iter, from, PAGE_SIZE) == PAGE_SIZE &&
		    !memcmp(vec.iov_base, from, PAGE_SIZE))
			continue;
		KUNIT_FAIL(test, "from the middle of page %lu of %lu on: not what is there",
			   i, want.nr);
		break;
	}
	vunmap(addr);
}

#ifdef kunit_warning_suppress
static int vmap_visit(pte_t *pte, unsigned long addr, void *data)
{
	unsigned long *seen = data;

	++*seen;
	return 0;
}

/* Who wants to see PTEs is told that there are none, and does no harm. */
void vmap_kunit_visit(struct kunit *test)
{
	struct vmap_room *room = test->priv;
	struct vmap_want want = {
		.nr = BLOCK + 40,
		.pages = room->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long seen = 0;
	void *addr;
	int err;

	vmap_kunit_fill(room, 0, want.nr);
	addr = vmap(room->pages, want.nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	if (vmap_kunit_verify(test, &want)) {
		kunit_warning_suppress(test) {
			err = apply_to_existing_page_range(&init_mm, want.addr,
							   want.nr * PAGE_SIZE,
							   vmap_visit, &seen);
		}
		KUNIT_EXPECT_EQ(test, err, want.blocks ? -EINVAL : 0);
		KUNIT_EXPECT_EQ(test, seen, want.blocks ? 0 : want.nr);
		vmap_kunit_verify(test, &want);
	}
	vunmap(addr);
}
#else
void vmap_kunit_visit(struct kunit *test)
{
	kunit_skip(test, "warnings can't be kept out of this kernel's log");
}
#endif
