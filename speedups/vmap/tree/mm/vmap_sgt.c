// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map a scatter-gather table into contiguous kernel address space, without an array of
 * all pages in between. Its entries say already which memory is contiguous.
 */

#include <linux/export.h>
#include <linux/scatterlist.h>

#include "vmap_reuse.h"

/*
 * A run of so many pages or more is mapped by itself. The pages of shorter ones are collected,
 * because a walk from the top of the page table for each takes longer than all else.
 */
#define VMAP_SGT_LONG	16UL

/**
 * struct vmap_run - contiguous memory at the start of a table, or after another run
 * @phys: its physical address
 * @size: its size in bytes; 0 if there is none
 */
struct vmap_run {
	phys_addr_t phys;
	unsigned long size;
};

/* As sg_next(), but CPUs need not wait for the entry to know where the next one is. */
static __always_inline struct scatterlist *vmap_sg_next(struct scatterlist *sg)
{
	if (likely(!sg_is_last(sg) && !sg_is_chain(sg + 1)))
		return sg + 1;

	return sg_next(sg);
}

/*
 * Get the run at *@sg, the first of *@nents entries, with all entries that continue it.
 * Leave in both what comes after it.
 */
static __always_inline struct vmap_run vmap_next_run(struct scatterlist **sg, unsigned int *nents)
{
	struct vmap_run run = { .phys = sg_phys(*sg) };

	do {
		run.size += (*sg)->length;
		*sg = vmap_sg_next(*sg);
	} while (--*nents && sg_phys(*sg) == run.phys + run.size);

	return run;
}

/*
 * The size of the mapping, or 0 if an entry is not made of whole pages, or if that much cannot
 * be mapped. On 32-bit, a table may be larger than the address space.
 */
static unsigned long vmap_sgt_size(struct sg_table *sgt, unsigned long *longest)
{
	struct vmap_run run = {};
	struct scatterlist *sg;
	unsigned int i;
	u64 size = 0;

	for (i = 0, sg = sgt->sgl; i < sgt->orig_nents; i++, sg = vmap_sg_next(sg)) {
		if (!PAGE_ALIGNED(sg->offset) || !PAGE_ALIGNED(sg->length) || !sg->length)
			return 0;
		if (sg_phys(sg) != run.phys + run.size)
			run = (struct vmap_run){ .phys = sg_phys(sg) };
		run.size += sg->length;
		*longest = max(*longest, run.size);
		size += sg->length;
	}

	return size >> PAGE_SHIFT <= totalram_pages() && size <= ULONG_MAX ? size : 0;
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

	if (huge)
		align = vmap_run_align(run, PMD_SIZE);
	if (huge && !align)
		align = vmap_run_align(run, VMAP_LEAST);

	return vmap_aligned_area(size, align, VM_MAP, caller);
}

/* Map the @nr pages that come before @end. */
static int vmap_map_short(unsigned long end, pgprot_t prot, struct page **pages,
			  unsigned int nr)
{
	unsigned long addr = end - nr * PAGE_SIZE;
	int err;

	if (!nr)
		return 0;
	err = kmsan_vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT, GFP_KERNEL);

	return err ?: __vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
}

static int vmap_map_long(unsigned long addr, struct vmap_run run, pgprot_t prot,
			 unsigned int max_shift)
{
	unsigned long i;
	int err = 0;

	/* KMSAN maps shadow pages of its own for each page. */
	for (i = 0; IS_ENABLED(CONFIG_KMSAN) && i < run.size && !err; i += PAGE_SIZE) {
		struct page *page = pfn_to_page(PHYS_PFN(run.phys + i));

		err = kmsan_vmap_pages_range_noflush(addr + i, addr + i + PAGE_SIZE, prot,
						     &page, PAGE_SHIFT, GFP_KERNEL);
	}

	return err ?: vmap_range_noflush(addr, addr + run.size, run.phys, prot, max_shift);
}

#ifdef arch_vmap_flush_tables
/* The entry for the table of PTEs that maps an address, or NULL if there is no table above it. */
static pmd_t *vmap_pmd(unsigned long addr)
{
	pgd_t *pgd = pgd_offset_k(addr);
	p4d_t *p4d = pgd_none(*pgd) ? NULL : p4d_offset(pgd, addr);
	pud_t *pud = !p4d || p4d_none(*p4d) ? NULL : pud_offset(p4d, addr);

	return !pud || pud_none(*pud) || pud_leaf(*pud) ? NULL : pmd_offset(pud, addr);
}

/*
 * Count the blocks of a scatter-gather table that huge PMD mappings can map from @addr on, and
 * those that have tables of PTEs. With @old, detach these.
 */
static unsigned long vmap_sgt_blocks(struct sg_table *sgt, unsigned long addr,
				     unsigned long *tables, struct vmap_tables *old)
{
	unsigned int nents = sgt->orig_nents;
	struct scatterlist *sg = sgt->sgl;
	unsigned long nr = 0, block, end;

	for (; nents; addr = end) {
		struct vmap_run run = vmap_next_run(&sg, &nents);

		end = addr + run.size;
		if (run.size < PMD_SIZE || !IS_ALIGNED(addr - run.phys, PMD_SIZE))
			continue;
		for (block = ALIGN(addr, PMD_SIZE); end - block >= PMD_SIZE; block += PMD_SIZE) {
			pmd_t *pmd = vmap_pmd(block);

			nr++;
			*tables += pmd && !pmd_none(*pmd);
			if (pmd && old)
				vmap_detach_table(pmd, block, old);
		}
	}

	return nr;
}

/*
 * Whether leaf entries can map blocks. Free all tables of PTEs that are in their way.
 * vmap_range_noflush() would free one at a time, and flush the TLBs of all CPUs for each. For a
 * few blocks, even one flush takes longer than leaf entries save.
 */
static bool vmap_sgt_make_room(struct sg_table *sgt, unsigned long addr)
{
	struct vmap_tables old = { LIST_HEAD_INIT(old.list) };
	unsigned long tables = 0, nr;

	nr = vmap_sgt_blocks(sgt, addr, &tables, NULL);
	if (!tables)
		return true;
	if (nr < VMAP_FREE_BLOCKS || !mmap_read_trylock(&init_mm))
		return false;
	vmap_sgt_blocks(sgt, addr, &tables, &old);
	vmap_free_tables(&old);
	mmap_read_unlock(&init_mm);

	return true;
}
#else
static inline bool vmap_sgt_make_room(struct sg_table *sgt, unsigned long addr)
{
	return true;
}
#endif

static int vmap_map_sgt(struct sg_table *sgt, unsigned long addr, pgprot_t prot,
			unsigned int max_shift)
{
	struct page *pages[4 * VMAP_SGT_LONG];
	unsigned int nents = sgt->orig_nents, nr = 0;
	struct scatterlist *sg = sgt->sgl;
	unsigned long i;
	int err = 0;

	while (nents && !err) {
		struct vmap_run run = vmap_next_run(&sg, &nents);
		unsigned long nr_pages = run.size >> PAGE_SHIFT;
		const bool is_long = nr_pages >= VMAP_SGT_LONG;

		if (is_long || nr + nr_pages > ARRAY_SIZE(pages)) {
			err = vmap_map_short(addr, prot, pages, nr);
			nr = 0;
		}
		if (!is_long) {
			for (i = 0; i < nr_pages; i++)
				pages[nr++] = pfn_to_page(PHYS_PFN(run.phys) + i);
		} else if (!err) {
			err = vmap_map_long(addr, run, prot, max_shift);
		}
		addr += run.size;
	}

	return err ?: vmap_map_short(addr, prot, pages, nr);
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
 * Return: the address, or NULL if there is no memory or no address space, if an entry
 * begins or ends inside a page, or if the table is empty or too large.
 */
void *vmap_sgt(struct sg_table *sgt, pgprot_t prot)
{
	unsigned long longest = 0, size = vmap_sgt_size(sgt, &longest), addr;
	bool huge = longest >= VMAP_LEAST && vmap_may_be_huge(size, VM_MAP, prot);
	struct vm_struct *area;
	int err;

	might_sleep();

	if (!size)
		return NULL;
	area = vmap_get_sgt_area(sgt, size, huge, __builtin_return_address(0));
	if (!area)
		return NULL;

	addr = (unsigned long)area->addr;
	huge = huge && vmap_sgt_make_room(sgt, addr);
	err = vmap_map_sgt(sgt, addr, pgprot_nx(prot), huge ? PMD_SHIFT : PAGE_SHIFT);
	flush_cache_vmap(addr, addr + size);
	if (err) {
		vunmap(area->addr);
		return NULL;
	}

	/* vread_iter() skips the area until everything is mapped. */
	clear_vm_uninitialized_flag(area);

	return area->addr;
}
EXPORT_SYMBOL_GPL(vmap_sgt);
