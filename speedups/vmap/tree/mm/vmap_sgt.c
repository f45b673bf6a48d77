// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map a scatter-gather table into contiguous kernel address space, without an array of
 * pages in between. Its entries say already which memory is contiguous.
 */

#include <linux/export.h>
#include <linux/scatterlist.h>

#include "vmap_internal.h"

/**
 * struct vmap_run - contiguous memory at the start of a table, or after another run
 * @phys: its physical address
 * @size: its size in bytes; 0 if there is none
 */
struct vmap_run {
	phys_addr_t phys;
	unsigned long size;
};

/*
 * Get the run at *@sg, the first of *@nents entries, with all entries that continue it.
 * Leave in both what comes after it.
 */
static struct vmap_run vmap_next_run(struct scatterlist **sg, unsigned int *nents)
{
	struct vmap_run run = { .phys = sg_phys(*sg) };

	do {
		run.size += (*sg)->length;
		*sg = sg_next(*sg);
	} while (--*nents && sg_phys(*sg) == run.phys + run.size);

	return run;
}

/* The size of the mapping, or 0 if an entry is not made of whole pages. */
static unsigned long vmap_sgt_size(struct sg_table *sgt)
{
	unsigned long size = 0;
	struct scatterlist *sg;
	unsigned int i;

	for_each_sgtable_sg(sgt, sg, i) {
		if (!PAGE_ALIGNED(sg->offset) || !PAGE_ALIGNED(sg->length) || !sg->length)
			return 0;
		size += sg->length;
	}

	return size >> PAGE_SHIFT <= totalram_pages() ? size : 0;
}

/* As vmap_array_align(), for a known run at the start of @size bytes. */
static unsigned long vmap_run_align(struct vmap_run run, unsigned long leaf)
{
	unsigned long lead = -run.phys & (leaf - 1);

	return run.size >= lead + leaf ? vmap_align_for(leaf, lead) : 0;
}

static struct vm_struct *vmap_get_sgt_area(struct sg_table *sgt, unsigned long size,
					   bool huge, const void *caller)
{
	unsigned int nents = sgt->orig_nents;
	struct scatterlist *sg = sgt->sgl;
	struct vmap_run run = vmap_next_run(&sg, &nents);
	unsigned long align = 0;

	huge &= size >= VMAP_POOL_PAGES * PAGE_SIZE;
	if (huge)
		align = vmap_run_align(run, PMD_SIZE);
	if (huge && !align)
		align = vmap_run_align(run, VMAP_LEAST);

	return vmap_aligned_area(size, align, VM_MAP, caller);
}

/* KMSAN maps shadow pages of its own for each page. */
static int vmap_kmsan_map_run(unsigned long addr, struct vmap_run run, pgprot_t prot)
{
	unsigned long i;
	int err = 0;

	for (i = 0; IS_ENABLED(CONFIG_KMSAN) && i < run.size && !err; i += PAGE_SIZE) {
		struct page *page = pfn_to_page(PHYS_PFN(run.phys + i));

		err = vmap_kmsan_map(addr + i, addr + i + PAGE_SIZE, prot, &page);
	}

	return err;
}

/**
 * vmap_sgt - map a scatter-gather table into contiguous kernel address space
 * @sgt: the table, whose entries are whole pages of memory that has a struct page
 * @prot: protection bits of the mapping
 *
 * - The memory of the entries is mapped in their order, as if vmap() were given an
 *   array of their pages.
 * - Where entries continue each other, one leaf entry may map several of them.
 * - Of a table with fewer entries (orig_nents) than its list has, only those are mapped.
 * - DMA addresses are not used, so the table need not be mapped for a device.
 *
 * The caller must keep the pages until the mapping is gone, which vunmap() removes.
 *
 * Context: process context, may sleep.
 * Return: the address, or NULL if there is no memory or no address space, or if an
 * entry begins or ends inside a page.
 */
void *vmap_sgt(struct sg_table *sgt, pgprot_t prot)
{
	unsigned long size = vmap_sgt_size(sgt), addr, end;
	const bool huge = vmap_may_be_huge(VM_MAP, prot);
	unsigned int nents = sgt->orig_nents;
	struct scatterlist *sg = sgt->sgl;
	struct vm_struct *area;
	int err = 0;

	might_sleep();

	if (!size)
		return NULL;
	area = vmap_get_sgt_area(sgt, size, huge, __builtin_return_address(0));
	if (!area)
		return NULL;

	prot = pgprot_nx(prot);
	addr = (unsigned long)area->addr;
	end = addr + size;
	while (nents && !err) {
		struct vmap_run run = vmap_next_run(&sg, &nents);

		err = vmap_kmsan_map_run(addr, run, prot);
		if (!err)
			err = vmap_range_noflush(addr, addr + run.size, run.phys, prot,
						 huge ? PMD_SHIFT : PAGE_SHIFT);
		addr += run.size;
	}
	flush_cache_vmap((unsigned long)area->addr, end);
	if (err) {
		vunmap(area->addr);
		return NULL;
	}

	/* vread_iter() skips the area until everything is mapped. */
	smp_wmb();
	area->flags &= ~VM_UNINITIALIZED;

	return area->addr;
}
EXPORT_SYMBOL_GPL(vmap_sgt);
