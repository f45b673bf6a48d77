// SPDX-License-Identifier: GPL-2.0-only
/*
 * For guests of stock kernels: an array of pages, mapped by vmap().
 *
 * Write "ORDER COUNT" to the parameter "map": COUNT pages, allocated in blocks of
 * 2^ORDER, are mapped and looked at through both of their addresses. ORDER -1
 * makes an array in which no page follows its neighbour. "0 0" looks at them
 * again and unmaps them. Reading tells the number of pages and of large leafs.
 *
 * Write "PFN COUNT" to the parameter "io": addresses without memory are mapped by
 * ioremap(), looked up in the page table, never used, and unmapped.
 */

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>
#include <asm/pgtable.h>

#define VMAP_IMAGE_LAST		(PAGE_SIZE / sizeof(u64) - 1)

static struct page **vmap_image_pages;
static unsigned long vmap_image_count;
static unsigned long vmap_image_leafs;
static void *vmap_image_area;

static void vmap_image_free(void)
{
	unsigned long i;

	for (i = 0; i < vmap_image_count; i++) {
		if (vmap_image_pages[i])
			__free_page(vmap_image_pages[i]);
	}
	kvfree(vmap_image_pages);
	vmap_image_pages = NULL;
	vmap_image_count = 0;
}

static int vmap_image_alloc(int order, unsigned long count)
{
	unsigned int block = order < 0 ? 0 : order;
	unsigned long i, k;

	vmap_image_pages = kvcalloc(count, sizeof(*vmap_image_pages), GFP_KERNEL);
	if (!vmap_image_pages)
		return -ENOMEM;
	vmap_image_count = count;

	for (i = 0; i + (1UL << block) <= count; i += 1UL << block) {
		struct page *page = alloc_pages(GFP_KERNEL, block);

		if (!page)
			return -ENOMEM;
		split_page(page, block);
		for (k = 0; k < 1UL << block; k++)
			vmap_image_pages[i + k] = page + k;
	}
	if (i != count)
		return -EINVAL;

	/* Descending, however they were allocated. */
	for (i = 0; order < 0 && i + 1 < count; i++) {
		for (k = i; k + 1 && vmap_image_pages[k + 1] == vmap_image_pages[k] + 1; k--)
			swap(vmap_image_pages[k], vmap_image_pages[k + 1]);
	}

	return 0;
}

static u64 *vmap_image_mapped(unsigned long i)
{
	return vmap_image_area + i * PAGE_SIZE;
}

/* What is written through one address has to be read through the other. */
static bool vmap_image_is_good(u64 key)
{
	unsigned long i;

	for (i = 0; i < vmap_image_count; i++) {
		u64 *plain = page_address(vmap_image_pages[i]);
		u64 *mapped = vmap_image_mapped(i);

		if (vmalloc_to_page(mapped) != vmap_image_pages[i]) {
			pr_err("vmap_image: page %lu is not where it belongs\n", i);
			return false;
		}
		mapped[0] = key + i;
		plain[VMAP_IMAGE_LAST] = key - i;
	}

	for (i = 0; i < vmap_image_count; i++) {
		u64 *plain = page_address(vmap_image_pages[i]);
		u64 *mapped = vmap_image_mapped(i);

		if (plain[0] != key + i || mapped[VMAP_IMAGE_LAST] != key - i) {
			pr_err("vmap_image: page %lu has another's content\n", i);
			return false;
		}
	}

	return true;
}

static void vmap_image_count_leafs(void)
{
	unsigned long addr = ALIGN((unsigned long)vmap_image_area, PMD_SIZE);
	unsigned long end = (unsigned long)vmap_image_mapped(vmap_image_count);
	unsigned int level;

	vmap_image_leafs = 0;
	for (; addr + PMD_SIZE <= end; addr += PMD_SIZE) {
		if (lookup_address(addr, &level) && level == PG_LEVEL_2M)
			vmap_image_leafs++;
	}
}

static int vmap_image_unmap(void)
{
	bool good = true;

	if (vmap_image_area) {
		good = vmap_image_is_good(0x5a5a000000000000ULL);
		vunmap(vmap_image_area);
	}
	vmap_image_area = NULL;
	vmap_image_free();

	return good ? 0 : -EIO;
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

	vmap_image_area = vmap(vmap_image_pages, count, VM_MAP, PAGE_KERNEL);
	if (!vmap_image_area) {
		err = -ENOMEM;
		goto free;
	}
	vmap_image_count_leafs();

	return vmap_image_is_good(0xa5a5000000000000ULL) ? 0 : -EIO;

free:
	vmap_image_free();
	return err;
}

static int vmap_image_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%lu %lu\n", vmap_image_count, vmap_image_leafs);
}

static const struct kernel_param_ops vmap_image_ops = {
	.set = vmap_image_set,
	.get = vmap_image_get,
};

/* What the page table says of an address; 0 for nothing. */
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

static void __exit vmap_image_exit(void)
{
	vmap_image_unmap();
}

module_exit(vmap_image_exit);
module_param_cb(map, &vmap_image_ops, NULL, 0600);
MODULE_PARM_DESC(map, "order of the blocks and count of pages to be mapped");
module_param_cb(io, &vmap_image_io_ops, NULL, 0200);
MODULE_PARM_DESC(io, "first PFN and count, mapped by ioremap()");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: user of vmap(), for tests in guests");
