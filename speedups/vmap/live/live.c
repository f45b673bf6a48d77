// SPDX-License-Identifier: GPL-2.0-only
/*
 * vmap() and its relatives of a kernel that was built without the speed-up.
 *
 * - The kernel's own functions are entered for whatever is not batched, and for
 *   all with vmap.method=base. They report misuse.
 * - What was mapped with large leafs is unmapped by the kernel's own code, which
 *   knows them from ioremap(). So it may outlive this module.
 * - The caller that is noted for an area is that of vmap(): an address in here
 *   would mean nothing after unloading. The kernel's own vmap() notes where it
 *   will return to, so it has to be jumped to, as the last thing that is done.
 */

#include "vmap_internal.h"
#include "live.h"

LIVE_ORIGINAL(vmap);
LIVE_ORIGINAL(__vmap_pages_range_noflush);
LIVE_ORIGINAL_LOCAL(vmap_range_noflush);

extern bool vmap_allow_huge;

/**
 * vmap_huge_allowed - tell whether vmap() may use large leafs
 *
 * Return: false if the kernel was booted with nohugevmalloc.
 */
bool vmap_huge_allowed(void)
{
	return vmap_allow_huge;
}

/*
 * Free an entry of what smaller mappings have left there, if anything. Whoever
 * prints the page tables keeps them by this lock.
 */
static bool vmap_live_vacate(pmd_t *pmd, unsigned long addr)
{
	bool vacant;

	if (!pmd_present(*pmd))
		return true;
	if (!mmap_read_trylock(&init_mm))
		return false;
	vacant = pmd_free_pte_page(pmd, addr);
	mmap_read_unlock(&init_mm);

	return vacant;
}

/**
 * vmap_try_pmd - map a block by one PMD leaf
 * @pmd: entry for it
 * @addr: start of the mapping
 * @end: end of the mapping
 * @phys_addr: start of the block
 * @prot: of the mapping
 * @max_page_shift: not less than PMD_SHIFT
 *
 * Does for the walk what the kernel's own, which has no symbol, does in a
 * spliced kernel. The walk comes with whole blocks only, one for each entry.
 *
 * Context: process context, may sleep.
 * Return: whether it is mapped; if not, nothing has changed.
 */
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot,
		 unsigned int max_page_shift)
{
	if (WARN_ON_ONCE(!IS_ALIGNED(addr | end | phys_addr, PMD_SIZE)))
		return 0;

	return arch_vmap_pmd_supported(prot) && vmap_live_vacate(pmd, addr) &&
	       pmd_set_huge(pmd, phys_addr, prot);
}

/* What is wrong, or not batched, is the kernel's own to deal with. */
static bool vmap_live_takes(unsigned int count, unsigned long flags)
{
	if (flags & (VM_FLUSH_RESET_PERMS | VM_NO_GUARD))
		return false;

	return count && count <= totalram_pages() && vmap_steps();
}

/* Map pages into an area of their size; if that fails, the area is gone. */
static void *vmap_live_fill(struct vm_struct *area, struct page **pages,
			    unsigned long size, pgprot_t prot, unsigned long flags)
{
	unsigned long start = (unsigned long)area->addr;

	if (!vmap_map_pages(start, start + size, prot, pages, flags))
		return (void *)start;

	vunmap((void *)start);
	return NULL;
}

/**
 * live_vmap - what runs for vmap()
 * @pages: to be mapped, in this order
 * @count: how many
 * @flags: of the area
 * @prot: of the mapping
 *
 * Context: process context, may sleep.
 * Return: the address, or NULL.
 */
void *live_vmap(struct page **pages, unsigned int count, unsigned long flags,
		pgprot_t prot)
{
	unsigned long size = count * PAGE_SIZE;
	struct vm_struct *area;
	void *start;

	if (!vmap_live_takes(count, flags))
		return live_original_vmap(pages, count, flags, prot);

	might_sleep();
	prot = pgprot_nx(prot);
	area = vmap_get_area(size, flags, prot, pages, __builtin_return_address(0));
	if (!area)
		return NULL;

	/* For vfree(); vunmap() leaves the pages to the caller. */
	if (flags & VM_MAP_PUT_PAGES) {
		area->pages = pages;
		area->nr_pages = count;
	}
	start = vmap_live_fill(area, pages, size, prot, flags);
	live_stay();

	return start;
}

/**
 * live_vmap_blocks - what runs for __vmap_pages_range_noflush()
 * @addr: start of the mapping
 * @end: end of the mapping
 * @prot: of the mapping
 * @pages: to be mapped, in this order
 * @page_shift: the pages are contiguous, and aligned, in blocks of this size
 *
 * Context: process context, may sleep.
 * Return: as vmap_map_pages().
 */
int live_vmap_blocks(unsigned long addr, unsigned long end, pgprot_t prot,
		     struct page **pages, unsigned int page_shift)
{
	int err;

	if (!vmap_steps() || page_shift <= PAGE_SHIFT)
		return live_original___vmap_pages_range_noflush(addr, end, prot,
								pages, page_shift);

	err = vmap_map_blocks(addr, end, prot, pages, page_shift);
	live_stay();

	return err;
}

/* Map what one table holds; false leaves it to the kernel. */
static bool vmap_live_map_table(unsigned long addr, unsigned long end,
				phys_addr_t phys_addr, pgprot_t prot,
				unsigned int max_page_shift)
{
	pgd_t *pgd = pgd_offset_k(addr);
	pgtbl_mod_mask mask = 0;
	bool mapped;
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;

	p4d = p4d_alloc_track(&init_mm, pgd, addr, &mask);
	pud = p4d ? pud_alloc_track(&init_mm, p4d, addr, &mask) : NULL;
	pmd = pud ? pmd_alloc_track(&init_mm, pud, addr, &mask) : NULL;
	mapped = pmd && vmap_map_range(pmd, addr, end, phys_addr, prot,
				       max_page_shift, &mask);
	if (mask & ARCH_PAGE_TABLE_SYNC_MASK)
		arch_sync_kernel_mappings(addr, end);

	return mapped;
}

/**
 * live_vmap_range - what runs for vmap_range_noflush()
 * @addr: start of the mapping
 * @end: end of the mapping
 * @phys_addr: start of what is mapped
 * @prot: of the mapping
 * @max_page_shift: no leaf may be larger
 *
 * The kernel's own maps all from the first block on that may be a large leaf.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM.
 */
int live_vmap_range(unsigned long addr, unsigned long end, phys_addr_t phys_addr,
		    pgprot_t prot, unsigned int max_page_shift)
{
	unsigned long next;

	might_sleep();

	/* What is no whole number of pages is reported by the kernel's own. */
	if (!PAGE_ALIGNED(end - addr))
		return live_original_vmap_range_noflush(addr, end, phys_addr, prot,
							max_page_shift);

	for (; vmap_steps() && addr < end; phys_addr += next - addr, addr = next) {
		next = pmd_addr_end(addr, end);
		if (max_page_shift >= PMD_SHIFT && next - addr == PMD_SIZE &&
		    IS_ALIGNED(phys_addr, PMD_SIZE))
			break;
		if (!vmap_live_map_table(addr, next, phys_addr, prot, max_page_shift))
			break;
		if (next == end)
			return 0;
	}

	return live_original_vmap_range_noflush(addr, end, phys_addr, prot,
						max_page_shift);
}
