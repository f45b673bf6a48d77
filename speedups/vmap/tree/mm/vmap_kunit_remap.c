// SPDX-License-Identifier: GPL-2.0-only
/* A mapping of the kernel is mapped by a process too, as the buffers of drivers are. */

#include <linux/anon_inodes.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define PART	37UL	/* pages, where the second mapping begins */

static int vmap_remap_mmap(struct file *file, struct vm_area_struct *vma)
{
	return remap_vmalloc_range(vma, file->private_data, vma->vm_pgoff);
}

static const struct file_operations vmap_remap_fops = { .mmap = vmap_remap_mmap };

/* What the kernel writes is read by the process, and the other way round. */
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
		KUNIT_FAIL(test, "page %lu of %lu: the process wrote elsewhere", i, nr);
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
		KUNIT_FAIL(test, "mapping %lu pages from %lu on: %ld", nr, from, (long)user);
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

/* Large leafs or not, a process gets single pages, and those that are at the addresses. */
void vmap_kunit_remap(struct kunit *test)
{
	struct vmap_room *room = test->priv;
	void *addr;

	vmap_kunit_fill(room, VMAP_LOOSE, VMAP_COMPOUND);
	addr = vmap(room->pages, VMAP_COMPOUND, VM_MAP | VM_USERMAP, PAGE_KERNEL);
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
