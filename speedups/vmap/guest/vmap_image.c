// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map arrays of pages in a guest with a stock kernel, by vmap() and vmalloc().
 *
 * Write "ORDER COUNT" to the parameter "map": COUNT pages, allocated in blocks of
 * 2^ORDER, are mapped and checked through both of their addresses. With ORDER -1,
 * no page of the array follows the one before. "0 0" checks them again and unmaps
 * them. Reading returns the number of pages and of huge mappings, and the address.
 *
 * Write a number of pages to the parameter "ordinary": vmalloc() allocates them, and they
 * are checked likewise. 0 frees them. "huge" does the same with a vmalloc() that may use
 * huge mappings.
 *
 * Write "PFN COUNT" to the parameter "io": addresses without memory are mapped by
 * ioremap(), looked up in the page table, never used, and unmapped.
 *
 * Write anything to the parameter "purge": addresses that were unmapped may be mapped
 * again.
 */

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>
#include <asm/pgtable.h>

#define VMAP_IMAGE_LAST		(PAGE_SIZE / sizeof(u64) - 1)

/**
 * struct vmap_image - pages and where they are mapped
 * @pages: the pages, all of this module
 * @count: number of pages
 * @leaves: number of huge mappings
 * @area: address of the mapping
 */
struct vmap_image {
	struct page **pages;
	unsigned long count;
	unsigned long leaves;
	void *area;
};

static struct vmap_image vmap_image_array;
static struct vmap_image vmap_image_ordinary;
static struct vmap_image vmap_image_huge;

static int vmap_image_room(struct vmap_image *image, unsigned long count)
{
	image->pages = kvcalloc(count, sizeof(*image->pages), GFP_KERNEL);
	image->count = image->pages ? count : 0;

	return image->pages ? 0 : -ENOMEM;
}

static void vmap_image_forget(struct vmap_image *image)
{
	kvfree(image->pages);
	memset(image, 0, sizeof(*image));
}

static u64 *vmap_image_mapped(struct vmap_image *image, unsigned long i)
{
	return image->area + i * PAGE_SIZE;
}

/* Data that is written through one address must be read through the other. */
static bool vmap_image_is_good(struct vmap_image *image, u64 key)
{
	unsigned long i;

	for (i = 0; i < image->count; i++) {
		u64 *plain = page_address(image->pages[i]);
		u64 *mapped = vmap_image_mapped(image, i);

		if (vmalloc_to_page(mapped) != image->pages[i]) {
			pr_err("vmap_image: page %lu is not where it belongs\n", i);
			return false;
		}
		mapped[0] = key + i;
		plain[VMAP_IMAGE_LAST] = key - i;
	}

	for (i = 0; i < image->count; i++) {
		u64 *plain = page_address(image->pages[i]);
		u64 *mapped = vmap_image_mapped(image, i);

		if (plain[0] != key + i || mapped[VMAP_IMAGE_LAST] != key - i) {
			pr_err("vmap_image: page %lu has another's content\n", i);
			return false;
		}
	}

	return true;
}

static void vmap_image_count_leaves(struct vmap_image *image)
{
	unsigned long addr = ALIGN((unsigned long)image->area, PMD_SIZE);
	unsigned long end = (unsigned long)vmap_image_mapped(image, image->count);
	unsigned int level;

	image->leaves = 0;
	for (; addr + PMD_SIZE <= end; addr += PMD_SIZE) {
		if (lookup_address(addr, &level) && level == PG_LEVEL_2M)
			image->leaves++;
	}
}

static int vmap_image_begin(struct vmap_image *image)
{
	vmap_image_count_leaves(image);

	return vmap_image_is_good(image, 0xa5a5000000000000ULL) ? 0 : -EIO;
}

static int vmap_image_end(struct vmap_image *image)
{
	return vmap_image_is_good(image, 0x5a5a000000000000ULL) ? 0 : -EIO;
}

static void vmap_image_free(void)
{
	struct vmap_image *image = &vmap_image_array;
	unsigned long i;

	for (i = 0; i < image->count; i++) {
		if (image->pages[i])
			__free_page(image->pages[i]);
	}
	vmap_image_forget(image);
}

static int vmap_image_alloc(int order, unsigned long count)
{
	unsigned int block = order < 0 ? 0 : order;
	unsigned long i, k;
	struct page **pages;

	if (vmap_image_room(&vmap_image_array, count))
		return -ENOMEM;
	pages = vmap_image_array.pages;

	for (i = 0; i + (1UL << block) <= count; i += 1UL << block) {
		struct page *page = alloc_pages(GFP_KERNEL, block);

		if (!page)
			return -ENOMEM;
		split_page(page, block);
		for (k = 0; k < 1UL << block; k++)
			pages[i + k] = page + k;
	}
	if (i != count)
		return -EINVAL;

	/* Sort them in descending order, in whatever order they were allocated. */
	for (i = 0; order < 0 && i + 1 < count; i++) {
		for (k = i; k + 1 && pages[k + 1] == pages[k] + 1; k--)
			swap(pages[k], pages[k + 1]);
	}

	return 0;
}

static int vmap_image_unmap(void)
{
	int err = 0;

	if (vmap_image_array.area) {
		err = vmap_image_end(&vmap_image_array);
		vunmap(vmap_image_array.area);
	}
	vmap_image_free();

	return err;
}

static int vmap_image_set(const char *val, const struct kernel_param *kp)
{
	unsigned long count;
	int order, err;

	if (sscanf(val, "%d %lu", &order, &count) != 2 || order >= MAX_PAGE_ORDER)
		return -EINVAL;

	err = vmap_image_unmap();
	if (err || !count)
		return err;

	err = vmap_image_alloc(order, count);
	if (err)
		goto free;

	vmap_image_array.area = vmap(vmap_image_array.pages, count, VM_MAP, PAGE_KERNEL);
	if (!vmap_image_array.area) {
		err = -ENOMEM;
		goto free;
	}

	return vmap_image_begin(&vmap_image_array);

free:
	vmap_image_free();
	return err;
}

static int vmap_image_get(char *buffer, const struct kernel_param *kp)
{
	const struct vmap_image *image = kp->arg;

	return sysfs_emit(buffer, "%lu %lu %lx\n", image->count, image->leaves,
			  (unsigned long)image->area);
}

static const struct kernel_param_ops vmap_image_ops = {
	.set = vmap_image_set,
	.get = vmap_image_get,
};

static int vmap_image_vfree(struct vmap_image *image)
{
	int err = 0;

	if (image->area) {
		err = vmap_image_end(image);
		vfree(image->area);
	}
	vmap_image_forget(image);

	return err;
}

/*
 * The kernel does not say which pages it took. So each mapped page must appear
 * once, and belong to nobody else.
 */
static int vmap_image_vmalloc(const char *val, const struct kernel_param *kp)
{
	struct vmap_image *image = kp->arg;
	unsigned long count, i;
	int err;

	if (kstrtoul(val, 0, &count))
		return -EINVAL;

	err = vmap_image_vfree(image);
	if (err || !count)
		return err;

	if (vmap_image_room(image, count))
		return -ENOMEM;
	image->area = image == &vmap_image_huge ? vmalloc_huge(count << PAGE_SHIFT, GFP_KERNEL) :
						  vmalloc(count << PAGE_SHIFT);
	if (!image->area) {
		vmap_image_forget(image);
		return -ENOMEM;
	}

	for (i = 0; i < count; i++) {
		image->pages[i] = vmalloc_to_page(vmap_image_mapped(image, i));
		if (!image->pages[i] || page_count(image->pages[i]) != 1) {
			pr_err("vmap_image: page %lu is not one of ours\n", i);
			vfree(image->area);
			vmap_image_forget(image);
			return -EIO;
		}
	}

	return vmap_image_begin(image);
}

static const struct kernel_param_ops vmap_image_vmalloc_ops = {
	.set = vmap_image_vmalloc,
	.get = vmap_image_get,
};

/* Return the physical address that the page table has for an address, or 0. */
static unsigned long vmap_image_pfn(unsigned long addr)
{
	unsigned int level;
	pte_t *pte = lookup_address(addr, &level);

	if (!pte || pte_none(*pte))
		return 0;
	if (level == PG_LEVEL_2M)
		return pmd_pfn(*(pmd_t *)pte) + ((addr & ~PMD_MASK) >> PAGE_SHIFT);
	return level == PG_LEVEL_4K ? pte_pfn(*pte) : 0;
}

static int vmap_image_io(const char *val, const struct kernel_param *kp)
{
	unsigned long pfn, count, i;
	void __iomem *area;
	int err = 0;

	if (sscanf(val, "%lu %lu", &pfn, &count) != 2)
		return -EINVAL;
	area = ioremap(PFN_PHYS(pfn), count << PAGE_SHIFT);
	if (!area)
		return -ENOMEM;

	for (i = 0; i < count && !err; i++) {
		if (vmap_image_pfn((unsigned long)area + i * PAGE_SIZE) != pfn + i)
			err = -EIO;
	}
	iounmap(area);

	return err;
}

static const struct kernel_param_ops vmap_image_io_ops = {
	.set = vmap_image_io,
};

static int vmap_image_purge(const char *val, const struct kernel_param *kp)
{
	vm_unmap_aliases();

	return 0;
}

static const struct kernel_param_ops vmap_image_purge_ops = {
	.set = vmap_image_purge,
};

static void __exit vmap_image_exit(void)
{
	vmap_image_unmap();
	vmap_image_vfree(&vmap_image_ordinary);
	vmap_image_vfree(&vmap_image_huge);
}

module_exit(vmap_image_exit);
module_param_cb(map, &vmap_image_ops, &vmap_image_array, 0600);
MODULE_PARM_DESC(map, "order of the blocks and number of pages to map");
module_param_cb(ordinary, &vmap_image_vmalloc_ops, &vmap_image_ordinary, 0600);
MODULE_PARM_DESC(ordinary, "number of pages that vmalloc() allocates");
module_param_cb(huge, &vmap_image_vmalloc_ops, &vmap_image_huge, 0600);
MODULE_PARM_DESC(huge, "number of pages that vmalloc_huge() allocates");
module_param_cb(io, &vmap_image_io_ops, NULL, 0200);
MODULE_PARM_DESC(io, "first PFN and count, mapped by ioremap()");
module_param_cb(purge, &vmap_image_purge_ops, NULL, 0200);
MODULE_PARM_DESC(purge, "let unmapped addresses be mapped again");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: user of vmap(), for tests in guests");
