// SPDX-License-Identifier: GPL-2.0-only
/*
 * Uses of an existing mapping by other code: changing its permissions, reading it
 * through /proc/kcore, walking its page table, and mapping it into a process.
 */

#include <linux/anon_inodes.h>
#include <linux/array_size.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/set_memory.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define PART	37UL	/* pages, where the second mapping begins */

/* set_memory_ro() of one page: x86 splits a huge PMD mapping, and arm64 returns an error. */
void vmap_kunit_read_only(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long page, i;
	u64 usual;
	void *addr;

	if (!IS_ENABLED(CONFIG_X86) && !IS_ENABLED(CONFIG_ARM64))
		kunit_skip(test, "the test knows x86 and arm64 only");
	vmap_kunit_fill(memory, 0, BLOCK);
	addr = vmap(memory->pages, BLOCK, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	page = want.addr + 5 * PAGE_SIZE;
	usual = vmap_kunit_leaf(page).attributes;
	if (IS_ENABLED(CONFIG_ARM64)) {
		KUNIT_EXPECT_EQ(test, set_memory_ro(page, 1), -EINVAL);
		vmap_kunit_verify(test, &want);
		vunmap(addr);
		return;
	}
	KUNIT_EXPECT_EQ(test, set_memory_ro(page, 1), 0);
	for (i = 0; i < BLOCK; i++) {
		struct vmap_leaf leaf = vmap_kunit_leaf(want.addr + i * PAGE_SIZE);

		KUNIT_EXPECT_EQ(test, leaf.pfn, page_to_pfn(memory->pages[i]));
		if (i == 5)
			KUNIT_EXPECT_NE(test, leaf.attributes, usual);
		else
			KUNIT_EXPECT_EQ(test, leaf.attributes, usual);
	}
	KUNIT_EXPECT_EQ(test, set_memory_rw(page, 1), 0);
	vmap_kunit_bytes(test, &want);
	vunmap(addr);
}

/* Attributes of a mapping whose accessed and dirty bits the CPU must set. */
static pgprot_t vmap_unused_prot(void)
{
#ifdef CONFIG_X86
	return __pgprot(pgprot_val(PAGE_KERNEL) & ~(_PAGE_ACCESSED | _PAGE_DIRTY));
#else
	return PAGE_KERNEL;
#endif
}

/*
 * Mappings of the kernel begin with the bits that the CPU would set when they are used,
 * and read-only ones get none. So none is lost when PTEs are cleared without an exchange.
 * Where the CPU has set some, the PTEs are cleared as well.
 */
void vmap_kunit_accessed(struct kunit *test)
{
	const struct {
		pgprot_t prot;
		bool write;
		bool changes;
	} uses[] = {
		{ PAGE_KERNEL, .write = true },
		{ PAGE_KERNEL_RO },
		{ vmap_unused_prot(), .changes = IS_ENABLED(CONFIG_X86) },
		{ vmap_unused_prot(), .write = true, .changes = IS_ENABLED(CONFIG_X86) },
	};
	struct vmap_memory *memory = test->priv;
	unsigned long nr = BLOCK + PART, changed, i;
	unsigned int use;

	vmap_kunit_fill(memory, 0, nr);
	for (use = 0; use < ARRAY_SIZE(uses); use++) {
		void *addr = vmap(memory->pages, nr, VM_MAP, uses[use].prot);
		unsigned long start = (unsigned long)addr;

		KUNIT_ASSERT_NOT_NULL(test, addr);
		for (i = 0, changed = 0; i < nr; i++) {
			u64 before = vmap_kunit_leaf(start + i * PAGE_SIZE).attributes;
			u64 *word = addr + i * PAGE_SIZE;

			if (uses[use].write)
				WRITE_ONCE(*word, READ_ONCE(*word));
			else
				READ_ONCE(*word);
			changed += vmap_kunit_leaf(start + i * PAGE_SIZE).attributes != before;
		}
		/* One use changes the leaf entry of a whole block. */
		KUNIT_EXPECT_EQ(test, !!changed, uses[use].changes);
		vunmap(addr);
		for (i = 0; i < nr; i++)
			KUNIT_EXPECT_EQ(test, vmap_kunit_leaf(start + i * PAGE_SIZE).kind,
					VMAP_NONE);
	}
}

/* Read a mapping like /proc/kcore, and compare the contents. */
static void vmap_read(struct kunit *test, const char *addr, unsigned long nr, void *into)
{
	struct kvec vec = { .iov_base = into, .iov_len = PAGE_SIZE };
	unsigned long i;

	for (i = 0; i < nr - 1; i++) {
		const char *from = addr + i * PAGE_SIZE + PAGE_SIZE / 2;
		struct iov_iter iter;

		memset(into, 0, PAGE_SIZE);
		iov_iter_kvec(&iter, ITER_DEST, &vec, 1, PAGE_SIZE);
		if (vread_iter(&iter, from, PAGE_SIZE) == PAGE_SIZE &&
		    !memcmp(into, from, PAGE_SIZE))
			continue;
		KUNIT_FAIL(test, "from the middle of page %lu of %lu on: wrong contents", i, nr);
		break;
	}
}

/* A reader of /proc/kcore gets the contents of a mapping, also of one at an offset. */
void vmap_kunit_vread(struct kunit *test)
{
	static const unsigned long firsts[] = { 0, BLOCK - 40 };
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = { .nr = BLOCK + 40, .pages = memory->pages };
	const struct vmap_param *param = test->param_value;
	unsigned long i;
	void *into;

	into = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, into);
	for (i = 0; i < ARRAY_SIZE(firsts); i++) {
		void *addr;

		vmap_kunit_fill(memory, firsts[i], want.nr);
		addr = vmap(memory->pages, want.nr, VM_MAP, PAGE_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, addr);
		want.addr = (unsigned long)addr;
		if (param->phase && vmap_kunit_shift(param, PAGE_KERNEL) == PMD_SHIFT &&
		    BLOCK * PAGE_SIZE == PMD_SIZE)
			KUNIT_EXPECT_EQ(test, (want.addr >> PAGE_SHIFT) % BLOCK, firsts[i]);
		vmap_kunit_bytes(test, &want);
		vmap_read(test, addr, want.nr, into);
		vunmap(addr);
	}
}

#ifdef kunit_warning_suppress
static int vmap_visit(pte_t *pte, unsigned long addr, void *data)
{
	unsigned long *seen = data;

	++*seen;
	return 0;
}

/* A walk for PTEs gets an error for a huge PMD mapping, and leaves it alone. */
void vmap_kunit_visit(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = BLOCK + 40,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long seen = 0;
	void *addr;
	int err;

	vmap_kunit_fill(memory, 0, want.nr);
	addr = vmap(memory->pages, want.nr, VM_MAP, PAGE_KERNEL);
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
	kunit_skip(test, "this kernel can't suppress warnings");
}
#endif

static int vmap_remap_mmap(struct file *file, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, file->private_data, vma->vm_pgoff);
}

static const struct file_operations vmap_remap_fops = { .mmap = vmap_remap_mmap };

/* The process reads what the kernel writes, and the kernel what the process writes. */
static void vmap_remap_bytes(struct kunit *test, void *kernel, u64 __user *user, unsigned long nr)
{
	const unsigned long step = PAGE_SIZE / sizeof(u64);
	u64 *mine = kernel, seen;
	unsigned long i;

	for (i = 0; i < nr; i++) {
		mine[i * step] = (i + 1) * 0x9e3779b97f4a7c15ULL;
		mine[i * step + 1] = 0;
	}
	for (i = 0; i < nr; i++) {
		if (get_user(seen, user + i * step) || seen != mine[i * step] ||
		    put_user(~seen, user + i * step + 1)) {
			KUNIT_FAIL(test, "page %lu of %lu: the process reads %#llx", i, nr, seen);
			return;
		}
	}
	for (i = 0; i < nr; i++) {
		if (mine[i * step + 1] == ~mine[i * step])
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: the process wrote to another page", i, nr);
		return;
	}
}

static void vmap_remap(struct kunit *test, void *addr, unsigned long from, unsigned long nr)
{
	struct file *file = anon_inode_getfile("vmap_kunit", &vmap_remap_fops, addr, O_RDWR);
	unsigned long user;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	user = kunit_vm_mmap(test, file, 0, nr * PAGE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED,
			     from * PAGE_SIZE);
	fput(file);
	if (!user || IS_ERR_VALUE(user)) {
		KUNIT_FAIL(test, "mapping %lu pages from page %lu on: %ld", nr, from, (long)user);
		return;
	}
	vmap_remap_bytes(test, addr + from * PAGE_SIZE, (u64 __user *)user, nr);
	KUNIT_EXPECT_EQ(test, vm_munmap(user, nr * PAGE_SIZE), 0);
}

static void vmap_remap_all(struct kunit *test, void *addr)
{
	vmap_remap(test, addr, 0, BLOCK);
	vmap_remap(test, addr, PART, BLOCK - PART);
	vmap_remap(test, addr, BLOCK - 1, 1);
}

/*
 * Drivers map such buffers into processes. A process gets PTEs for the right pages,
 * however large the leaf entries of the kernel's mapping are.
 */
void vmap_kunit_remap(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	void *addr;

	vmap_kunit_fill(memory, VMAP_LOOSE, VMAP_COMPOUND);
	addr = vmap(memory->pages, VMAP_COMPOUND, VM_MAP | VM_USERMAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	if (vmap_kunit_shift(test->param_value, PAGE_KERNEL) == PMD_SHIFT &&
	    VMAP_COMPOUND * PAGE_SIZE == PMD_SIZE && !vmap_kunit_beside_readers)
		KUNIT_EXPECT_EQ(test, vmap_kunit_leaf((unsigned long)addr).kind, VMAP_BLOCK);
	vmap_remap_all(test, addr);
	vunmap(addr);

	addr = __vmalloc_node_range(BLOCK * PAGE_SIZE, PMD_SIZE, VMALLOC_START, VMALLOC_END,
				    GFP_KERNEL | __GFP_ZERO, PAGE_KERNEL,
				    VM_USERMAP | VM_ALLOW_HUGE_VMAP, NUMA_NO_NODE,
				    __builtin_return_address(0));
	KUNIT_ASSERT_NOT_NULL(test, addr);
	vmap_remap_all(test, addr);
	vfree(addr);
}
