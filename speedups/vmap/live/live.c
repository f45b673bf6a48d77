// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacements of vmap() and related functions for a kernel that was built without
 * the speed-up.
 *
 * - Calls that are not batched go to the kernel's own functions, and so do all calls
 *   with vmap.method=base. The kernel's own functions also report misuse.
 * - The kernel's own code unmaps huge PMD mappings, which it supports for ioremap().
 *   So a mapping may outlive this module.
 * - An area records the caller of vmap(). An address in this module would be invalid
 *   after unloading. The kernel's own vmap() records its return address, so it must
 *   be reached by a tail call.
 */

#include <linux/cacheflush.h>
#include <linux/io.h>
#include <linux/kmsan.h>
#include <linux/pgalloc.h>
#include <linux/sched/mm.h>

#ifdef LIVE_STEP_INTERNAL
#include "vmap_internal.h"
#else
#include "internal.h"
#endif
#include "live.h"

#define MAX_VA_SIZE_PAGES	256

extern bool vmap_allow_huge;

/* The steps insert what they add to mm/vmalloc.c before this line. */
/*** Page table manipulation functions ***/

LIVE_ORIGINAL(vmap);
LIVE_ORIGINAL(__vmap_pages_range_noflush);
LIVE_ORIGINAL_LOCAL(vmap_range_noflush);

enum vmap_counts {
	VMAP_DONE,
	VMAP_LEFT_METHOD,
	VMAP_LEFT_COUNT,
	VMAP_LEFT_FLAGS,
	VMAP_BLOCKS_DONE,
	VMAP_BLOCKS_LEFT_METHOD,
	VMAP_BLOCKS_LEFT_COUNT,
	VMAP_RANGE_DONE,
	VMAP_RANGE_LEFT_METHOD,
	VMAP_RANGE_LEFT_SIZE,
	VMAP_RANGE_LEFT_HUGE,
	VMAP_RANGE_LEFT_TABLE,
};

#define VMAP_BLOCKS	"__vmap_pages_range_noflush"
#define VMAP_RANGE	"vmap_range_noflush"

const struct live_count live_counts[] = {
	[VMAP_DONE] = { "vmap", LIVE_DONE, "" },
	[VMAP_LEFT_METHOD] = { "vmap", LIVE_LEFT, "method=base" },
	[VMAP_LEFT_COUNT] = { "vmap", LIVE_LEFT, "one page, or too many" },
	[VMAP_LEFT_FLAGS] = { "vmap", LIVE_LEFT, "flags of a special area" },
	[VMAP_BLOCKS_DONE] = { VMAP_BLOCKS, LIVE_DONE, "" },
	[VMAP_BLOCKS_LEFT_METHOD] = { VMAP_BLOCKS, LIVE_LEFT, "method=base" },
	[VMAP_BLOCKS_LEFT_COUNT] = { VMAP_BLOCKS, LIVE_LEFT, "seven pages or fewer" },
	[VMAP_RANGE_DONE] = { VMAP_RANGE, LIVE_DONE, "" },
	[VMAP_RANGE_LEFT_METHOD] = { VMAP_RANGE, LIVE_LEFT, "method=base" },
	[VMAP_RANGE_LEFT_SIZE] = { VMAP_RANGE, LIVE_LEFT, "a size that is not one of pages" },
	[VMAP_RANGE_LEFT_HUGE] = { VMAP_RANGE, LIVE_LEFT, "huge mappings" },
	[VMAP_RANGE_LEFT_TABLE] = { VMAP_RANGE, LIVE_LEFT, "no memory for a table" },
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/*
 * Free the table of PTEs that earlier mappings may have left in a PMD. ptdump holds
 * this lock for writing, so that no table is freed while it reads page tables.
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

/* The entry for the table that maps an address. The tables above are allocated. */
static pmd_t *vmap_live_pmd(unsigned long addr, pgtbl_mod_mask *mask)
{
	p4d_t *p4d = p4d_alloc_track(&init_mm, pgd_offset_k(addr), addr, mask);
	pud_t *pud = p4d ? pud_alloc_track(&init_mm, p4d, addr, mask) : NULL;

	return pud ? pmd_alloc_track(&init_mm, pud, addr, mask) : NULL;
}

/*
 * As in a spliced kernel, but its vmap_try_huge_pmd() has no symbol here. Huge vmalloc() may take
 * the place of an empty table of PTEs, as it does in the kernel's own code. vmap() frees none.
 */
static bool vmap_live_block(struct page **pages, pgprot_t prot, pmd_t *pmd, unsigned long addr,
			    unsigned long end, bool known)
{
	return vmap_is_block(pages, pmd, addr, end, known) && arch_vmap_pmd_supported(prot) &&
	       IS_ALIGNED(page_to_phys(*pages), PMD_SIZE) && vmap_live_vacate(pmd, addr) &&
	       pmd_set_huge(pmd, page_to_phys(*pages), prot);
}

/* Map pages by the PTEs of one table. */
static int vmap_live_ptes(struct page **pages, pgprot_t prot, pte_t *pte, unsigned long addr,
			  unsigned long end, unsigned int max_shift)
{
	if (end - addr >= VMAP_RUN_MIN * PAGE_SIZE && vmap_batches()) {
		unsigned long nr = vmap_map_batch(pages, prot, pte, addr, end, max_shift);

		pages += nr;
		pte += nr;
		addr += nr * PAGE_SIZE;
	}

	for (; addr != end; addr += PAGE_SIZE, pte++, pages++) {
		if (WARN_ON(!pte_none(ptep_get(pte)) || !*pages || !vmap_page_valid(*pages)))
			return -ENOMEM;
		set_pte_at(&init_mm, addr, pte, mk_pte(*pages, prot));
	}

	return 0;
}

/**
 * vmap_walk_pages_noflush - map pages into a range of kernel address space
 * @start: start of the mapping
 * @end: end of the mapping, after @start
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known: the pages are blocks of this size, contiguous and aligned
 *
 * In a spliced kernel, this function is the walk of vmalloc.c.
 *
 * Context: any in which vmalloc() may be called.
 * Return: 0, or -ENOMEM for whatever reason.
 */
static noinline __noclone int vmap_walk_pages_noflush(unsigned long start, unsigned long end,
						      pgprot_t prot, struct page **pages,
						      unsigned int max_shift, bool known)
{
	pgtbl_mod_mask mask = PGTBL_PTE_MODIFIED;
	unsigned long addr, next;
	int err = 0;

	for (addr = start; addr != end && !err; pages += (next - addr) >> PAGE_SHIFT, addr = next) {
		pmd_t *pmd = vmap_live_pmd(addr, &mask);
		pte_t *pte;

		next = pmd_addr_end(addr, end);
		if (pmd && max_shift >= PMD_SHIFT &&
		    vmap_live_block(pages, prot, pmd, addr, next, known)) {
			mask |= PGTBL_PMD_MODIFIED;
			continue;
		}
		pte = pmd ? pte_alloc_kernel_track(pmd, addr, &mask) : NULL;
		err = pte ? vmap_live_ptes(pages, prot, pte, addr, next, max_shift) : -ENOMEM;
	}
	if (mask & ARCH_PAGE_TABLE_SYNC_MASK)
		arch_sync_kernel_mappings(start, end);

	return err;
}

/* The steps insert vmap_get_area() and vmap_fill_area() here. */
#undef EXPORT_SYMBOL
#define EXPORT_SYMBOL(name)
EXPORT_SYMBOL(vunmap);

/*
 * Return VMAP_DONE to handle a call here. The kernel's own function handles misuse and
 * all else.
 */
static enum vmap_counts vmap_live_takes(unsigned int count, unsigned long flags)
{
	if (flags & (VM_FLUSH_RESET_PERMS | VM_NO_GUARD))
		return VMAP_LEFT_FLAGS;
	if (count <= 1 || count > totalram_pages())
		return VMAP_LEFT_COUNT;

	return vmap_batches() ? VMAP_DONE : VMAP_LEFT_METHOD;
}

/* Map pages into an area of their size. If that fails, free the area. */
static void *vmap_live_fill(struct vm_struct *area, struct page **pages,
			    unsigned long size, pgprot_t prot, unsigned long flags)
{
	unsigned long start = (unsigned long)area->addr;

	if (!vmap_fill_area(start, start + size, prot, pages, flags))
		return (void *)start;

	vunmap((void *)start);
	return NULL;
}

/**
 * live_vmap - replacement of vmap()
 * @pages: pages to map, in this order
 * @count: number of pages
 * @flags: flags of the area
 * @prot: protection bits of the mapping
 *
 * Context: process context, may sleep.
 * Return: the address, or NULL.
 */
void *live_vmap(struct page **pages, unsigned int count, unsigned long flags,
		pgprot_t prot)
{
	unsigned long size = count * PAGE_SIZE;
	enum vmap_counts found;
	struct vm_struct *area;
	u64 started;
	void *start;

	found = vmap_live_takes(count, flags);
	live_counted(found, count);
	if (found != VMAP_DONE)
		return live_original_vmap(pages, count, flags, prot);

	might_sleep();
	started = local_clock();
	prot = pgprot_nx(prot);
	area = vmap_get_area(size, flags, prot, pages, __builtin_return_address(0));
	if (!area)
		return NULL;

	/* vfree() frees these pages; vunmap() leaves them to the caller. */
	if (flags & VM_MAP_PUT_PAGES) {
		area->pages = pages;
		area->nr_pages = count;
	}
	start = vmap_live_fill(area, pages, size, prot, flags);
	live_timed(VMAP_DONE, started);
	live_stay();

	return start;
}

/**
 * live_vmap_blocks - replacement of __vmap_pages_range_noflush()
 * @addr: start of the mapping
 * @end: end of the mapping
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @page_shift: log2 of the size of the blocks in which the pages are contiguous and
 *	aligned; PAGE_SHIFT for single pages
 *
 * Context: as vmap_walk_pages_noflush().
 * Return: 0, or -ENOMEM.
 */
int live_vmap_blocks(unsigned long addr, unsigned long end, pgprot_t prot,
		     struct page **pages, unsigned int page_shift)
{
	enum vmap_counts found = VMAP_BLOCKS_DONE;
	int err;

	if (!vmap_batches())
		found = VMAP_BLOCKS_LEFT_METHOD;
	else if (page_shift < PAGE_SHIFT || addr + VMAP_RUN_MIN * PAGE_SIZE > end)
		found = VMAP_BLOCKS_LEFT_COUNT;
	live_counted(found, (end - addr) >> PAGE_SHIFT);
	if (found != VMAP_BLOCKS_DONE)
		return live_original___vmap_pages_range_noflush(addr, end, prot,
								pages, page_shift);

	err = vmap_walk_pages_noflush(addr, end, prot, pages, page_shift, page_shift > PAGE_SHIFT);
	live_stay();

	return err;
}

/* Map a range within one table. If false, the kernel's own function must map it. */
static noinline __noclone bool vmap_live_map_table(unsigned long addr, unsigned long end,
						   phys_addr_t phys_addr, pgprot_t prot,
						   unsigned int max_page_shift)
{
	pgtbl_mod_mask mask = 0;
	pmd_t *pmd = vmap_live_pmd(addr, &mask);
	pte_t *pte = pmd ? pte_alloc_kernel_track(pmd, addr, &mask) : NULL;
	bool mapped;

	mapped = pte && vmap_map_range(pte, addr, end, phys_addr, prot, max_page_shift);
	mask |= PGTBL_PTE_MODIFIED;
	if (mask & ARCH_PAGE_TABLE_SYNC_MASK)
		arch_sync_kernel_mappings(addr, end);

	return mapped;
}

/**
 * live_vmap_range - replacement of vmap_range_noflush()
 * @addr: start of the mapping
 * @end: end of the mapping
 * @phys_addr: first physical address
 * @prot: protection bits of the mapping
 * @max_page_shift: log2 of the size of the largest leaf entry allowed
 *
 * From the first block on that can be a huge PMD mapping, the kernel's own function
 * maps the rest.
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM.
 */
int live_vmap_range(unsigned long addr, unsigned long end, phys_addr_t phys_addr,
		    pgprot_t prot, unsigned int max_page_shift)
{
	enum vmap_counts found = VMAP_RANGE_LEFT_METHOD;
	unsigned long start = addr, next;

	might_sleep();

	/* The kernel's own function warns about a size that is not a multiple of pages. */
	if (!PAGE_ALIGNED(end - addr)) {
		live_counted(VMAP_RANGE_LEFT_SIZE, (end - addr) >> PAGE_SHIFT);
		return live_original_vmap_range_noflush(addr, end, phys_addr, prot,
							max_page_shift);
	}

	for (; vmap_batches() && addr < end; phys_addr += next - addr, addr = next) {
		next = pmd_addr_end(addr, end);
		if (max_page_shift >= PMD_SHIFT && next - addr == PMD_SIZE &&
		    IS_ALIGNED(phys_addr, PMD_SIZE)) {
			found = VMAP_RANGE_LEFT_HUGE;
			break;
		}
		if (!vmap_live_map_table(addr, next, phys_addr, prot, max_page_shift)) {
			found = VMAP_RANGE_LEFT_TABLE;
			break;
		}
		if (next == end) {
			live_counted(VMAP_RANGE_DONE, (end - start) >> PAGE_SHIFT);
			return 0;
		}
	}

	/* What was mapped until here is not counted. */
	live_counted(found, (end - addr) >> PAGE_SHIFT);
	return live_original_vmap_range_noflush(addr, end, phys_addr, prot,
						max_page_shift);
}
