// SPDX-License-Identifier: GPL-2.0-only
/*
 * vmap() and its relatives of a kernel that was built without the speed-up.
 *
 * - The kernel's own functions are entered for whatever is not batched, and for
 *   all with vmap.method=base. They report misuse.
 * - What was mapped with large leafs is unmapped by the kernel's own code, which
 *   knows them from ioremap(). So it may outlive this module.
 * - The caller that is noted for an area is that of vmap(): an address in here
 *   would mean nothing after unloading.
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

/**
 * vmap_try_pmd - map a block by one PMD leaf
 * @pmd: entry for it
 * @addr: start of the mapping
 * @end: end of the mapping
 * @phys_addr: start of the block
 * @prot: of the mapping
 * @max_page_shift: no leaf may be larger
 *
 * Context: process context, may sleep.
 * Return: whether it is mapped; if not, nothing has changed.
 */
int vmap_try_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
		 phys_addr_t phys_addr, pgprot_t prot,
		 unsigned int max_page_shift)
{
	if (max_page_shift < PMD_SHIFT || !arch_vmap_pmd_supported(prot) ||
	    end - addr != PMD_SIZE || !IS_ALIGNED(addr | phys_addr, PMD_SIZE))
		return 0;

	/* A table may be left of smaller mappings. */
	if (pmd_present(*pmd) && !pmd_free_pte_page(pmd, addr))
		return 0;

	return pmd_set_huge(pmd, phys_addr, prot);
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
	unsigned long size = (unsigned long)count << PAGE_SHIFT, addr;
	struct vm_struct *area;

	if (!vmap_steps() || flags & (VM_FLUSH_RESET_PERMS | VM_NO_GUARD) ||
	    !count || count > totalram_pages())
		return live_original_vmap(pages, count, flags, prot);

	might_sleep();
	prot = pgprot_nx(prot);
	area = vmap_get_area(size, flags, prot, pages, __builtin_return_address(0));
	if (!area)
		return NULL;

	addr = (unsigned long)area->addr;
	if (vmap_map_pages(addr, addr + size, prot, pages, flags)) {
		vunmap(area->addr);
		return NULL;
	}

	if (flags & VM_MAP_PUT_PAGES) {
		area->nr_pages = count;
		area->pages = pages;
	}

	return area->addr;
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
	if (!vmap_steps() || page_shift <= PAGE_SHIFT)
		return live_original___vmap_pages_range_noflush(addr, end, prot,
								pages, page_shift);

	return vmap_map_blocks(addr, end, prot, pages, page_shift);
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
