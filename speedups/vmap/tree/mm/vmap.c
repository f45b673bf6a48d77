// SPDX-License-Identifier: GPL-2.0-only
/*
 * Map contiguous memory in batches, for vmap(), huge vmalloc() and ioremap().
 *
 * The pages of a vmap() array may be contiguous by chance, or because they were
 * allocated together. One walk goes through the array and the page table at the
 * same time. For each page it compares the pointer with the next one, which costs a
 * scattered array one comparison a page, and finds every run of contiguous pages
 * wherever it begins. The walk does not rely on compound pages, because an array may
 * hold the pages of a compound page in any order.
 */

#include "vmap_internal.h"

/*
 * In an aligned block of VMAP_UNIT pages, pfn_valid() is the same for all pages, and
 * pages that are adjacent in memory are adjacent in the memmap. The architectures
 * that map in batches use sparsemem and its pfn_valid(), so their units are large.
 * For all others a unit of one page is correct, if slow.
 */
#if defined(CONFIG_HAVE_ARCH_PFN_VALID) || !defined(CONFIG_SPARSEMEM)
#define VMAP_UNIT	1UL
#elif defined(CONFIG_SPARSEMEM_VMEMMAP)
#define VMAP_UNIT	PAGES_PER_SUBSECTION
#else
#define VMAP_UNIT	PAGES_PER_SECTION
#endif

/* Sections that a walk can remember: those in an aligned 32 GB on x86-64 and arm64. */
#define VMAP_SECTIONS	256UL

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

/**
 * struct vmap_sections - what a walk remembers of the results of pfn_valid()
 * @first: PFN of the first page of the walk
 * @valid: of the sections around @first, those of which all pages are known to be valid
 */
struct vmap_sections {
	unsigned long first;
	DECLARE_BITMAP(valid, VMAP_SECTIONS);
};

/**
 * struct vmap_walk - state of a walk over an array of pages
 * @pages: the next page to map
 * @run: number of contiguous pages from @pages on, or 0 if not counted yet
 * @prot: protection bits of the mapping
 * @max_shift: log2 of the size of the largest leaf entry allowed
 * @known_shift: the caller guarantees that aligned blocks of the array of this size
 *	(as log2) are contiguous and aligned in memory
 * @steps: what is done in batches
 * @mask: page table levels that were changed
 * @sections: sections whose pages are all valid
 */
struct vmap_walk {
	struct page **pages;
	unsigned long run;
	pgprot_t prot;
	unsigned int max_shift;
	unsigned int known_shift;
	unsigned int steps;
	pgtbl_mod_mask mask;
	struct vmap_sections *sections;
};

/*
 * pfn_valid() takes longer than all else for a page that is in no run. It is the same
 * for all pages of an early section, so each of those is looked up once in a walk. With
 * a bit for each section, an array may alternate between them.
 */
static __always_inline bool vmap_pfn_valid(struct vmap_sections *sections,
					   unsigned long pfn)
{
#if VMAP_UNIT > 1
	unsigned long nr = pfn_to_section_nr(pfn) ^ pfn_to_section_nr(sections->first);
	const bool near = nr < VMAP_SECTIONS;

	if (near && (sections->valid[BIT_WORD(nr)] & BIT_MASK(nr)))
		return true;
	if (!pfn_valid(pfn))
		return false;
	if (near && early_section(__pfn_to_section(pfn)))
		__set_bit(nr, sections->valid);
	return true;
#else
	return pfn_valid(pfn);
#endif
}

/* Count the contiguous pages at the start of @pages, at most @max. */
static __always_inline unsigned long vmap_run(struct page **pages, unsigned long max)
{
	struct page *page = pages[0];
	unsigned long nr = 0;

	for (; nr + 8 <= max && arch_vmap_follow8(pages, page); nr += 8, pages += 8)
		page += 8;

	/* Unrolled, because a loop costs more than the comparison in it. */
	for (; nr + 8 <= max; nr += 8, pages += 8, page += 8) {
		if (pages[0] != page + 0)
			return nr;
		if (pages[1] != page + 1)
			return nr + 1;
		if (pages[2] != page + 2)
			return nr + 2;
		if (pages[3] != page + 3)
			return nr + 3;
		if (pages[4] != page + 4)
			return nr + 4;
		if (pages[5] != page + 5)
			return nr + 5;
		if (pages[6] != page + 6)
			return nr + 6;
		if (pages[7] != page + 7)
			return nr + 7;
	}
	while (nr < max && *pages == page) {
		pages++;
		page++;
		nr++;
	}

	return nr;
}

static __always_inline bool vmap_ptes_none(pte_t *pte, unsigned long nr)
{
	for (; nr >= 8 && arch_vmap_none8(pte); nr -= 8)
		pte += 8;
	for (; nr >= 4; nr -= 4, pte += 4) {
		if (!arch_vmap_none4(ptep_get(pte), ptep_get(pte + 1),
				     ptep_get(pte + 2), ptep_get(pte + 3)))
			return false;
	}
	for (; nr; nr--, pte++) {
		if (!pte_none(ptep_get(pte)))
			return false;
	}

	return true;
}

static void vmap_advance(struct vmap_walk *walk, unsigned long nr)
{
	walk->pages += nr;
	walk->run = 0;
}

/* Whether one leaf entry can map the next @nr pages. */
static bool vmap_is_block(struct vmap_walk *walk, unsigned long nr)
{
	struct page **pages = walk->pages;
	unsigned long pfn, i;

	if (!pages[0])
		return false;
	if (walk->known_shift >= PAGE_SHIFT + ilog2(nr))
		return true;

	pfn = page_to_pfn(pages[0]);
	if (!IS_ALIGNED(pfn, nr))
		return false;
	/* A cheap test first. Most arrays that only begin like a block fail it. */
	if ((walk->steps & VMAP_DETECT) && pages[nr - 1] != pages[0] + (nr - 1))
		return false;
	for (i = 0; i < nr; i += VMAP_UNIT) {
		if (!pfn_valid(pfn + i))
			return false;
	}

	walk->run = vmap_run(pages, nr);
	return walk->run == nr;
}

/*
 * Map the contiguous pages from *@pages on, at most @max.
 *
 * Return: the number of pages, or 0 if one of the PTEs is in use.
 */
static __always_inline unsigned long vmap_map_run(const struct vmap_walk *walk,
						  struct page **pages,
						  unsigned long addr, pte_t *pte,
						  unsigned long max)
{
	unsigned long unit = VMAP_UNIT - page_to_pfn(*pages) % VMAP_UNIT;
	unsigned long nr = min(max, unit);

	/* vmap_is_block() may have counted them already. */
	if (pages == walk->pages && walk->run)
		nr = min(nr, walk->run);
	else
		nr = vmap_run(pages, nr);

	if (!vmap_ptes_none(pte, nr))
		return 0;

	arch_vmap_set_ptes(addr, pte, mk_pte(*pages, walk->prot), nr,
			   walk->max_shift);

	return nr;
}

static int vmap_walk_pte(struct vmap_walk *walk, pmd_t *pmd, unsigned long addr,
			 unsigned long end)
{
	unsigned long i = 0, nr, last = ((end - addr) >> PAGE_SHIFT) - 1;
	pte_t zero = pfn_pte(0, walk->prot);
	struct page **pages = walk->pages;
	int err = 0;
	pte_t *pte;

	pte = pte_alloc_kernel_track(pmd, addr, &walk->mask);
	if (!pte)
		return -ENOMEM;

	vmap_lazy_mmu_enable();

	do {
		struct page *page = pages[i];
		unsigned long pfn;
		bool run, valid;

		if (WARN_ON(!page)) {
			err = -EINVAL;
			break;
		}
		pfn = page_to_pfn(page);
		run = i < last && pages[i + 1] == page + 1;
		/* Remembering takes longer than one lookup for a run, or for the last page. */
		valid = run || i == last ? pfn_valid(pfn) :
					   vmap_pfn_valid(walk->sections, pfn);
		if (WARN_ON(!valid)) {
			err = -EINVAL;
			break;
		}

		if (run) {
			nr = vmap_map_run(walk, pages + i, addr + i * PAGE_SIZE,
					  pte + i, last - i + 1);
			if (WARN_ON(!nr)) {
				err = -EBUSY;
				break;
			}
			i += nr;
			continue;
		}

		if (WARN_ON(!pte_none(ptep_get(pte + i)))) {
			err = -EBUSY;
			break;
		}
		set_pte_at(&init_mm, addr + i * PAGE_SIZE, pte + i,
			   arch_vmap_pte(page, pfn, walk->prot, zero));
		i++;
	} while (i <= last);

	vmap_lazy_mmu_disable();
	vmap_advance(walk, i);
	walk->mask |= PGTBL_PTE_MODIFIED;

	return err;
}

static int vmap_walk_pmd(struct vmap_walk *walk, pud_t *pud, unsigned long addr,
			 unsigned long end)
{
	unsigned long next;
	pmd_t *pmd;
	int err;

	pmd = pmd_alloc_track(&init_mm, pud, addr, &walk->mask);
	if (!pmd)
		return -ENOMEM;

	do {
		next = pmd_addr_end(addr, end);

		if (walk->max_shift >= PMD_SHIFT && next - addr == PMD_SIZE &&
		    vmap_is_block(walk, VMAP_PMD_PAGES) &&
		    vmap_try_pmd(pmd, addr, next, PFN_PHYS(page_to_pfn(*walk->pages)),
				 walk->prot, walk->max_shift)) {
			walk->mask |= PGTBL_PMD_MODIFIED;
			vmap_advance(walk, VMAP_PMD_PAGES);
			continue;
		}

		err = vmap_walk_pte(walk, pmd, addr, next);
		if (err)
			return err;
	} while (pmd++, addr = next, addr != end);

	return 0;
}

static int vmap_walk_pud(struct vmap_walk *walk, p4d_t *p4d, unsigned long addr,
			 unsigned long end)
{
	unsigned long next;
	pud_t *pud;
	int err;

	pud = pud_alloc_track(&init_mm, p4d, addr, &walk->mask);
	if (!pud)
		return -ENOMEM;

	do {
		next = pud_addr_end(addr, end);
		err = vmap_walk_pmd(walk, pud, addr, next);
		if (err)
			return err;
	} while (pud++, addr = next, addr != end);

	return 0;
}

static int vmap_walk_p4d(struct vmap_walk *walk, pgd_t *pgd, unsigned long addr,
			 unsigned long end)
{
	unsigned long next;
	p4d_t *p4d;
	int err;

	p4d = p4d_alloc_track(&init_mm, pgd, addr, &walk->mask);
	if (!p4d)
		return -ENOMEM;

	do {
		next = p4d_addr_end(addr, end);
		err = vmap_walk_pud(walk, p4d, addr, next);
		if (err)
			return err;
	} while (p4d++, addr = next, addr != end);

	return 0;
}

static int vmap_walk(struct vmap_walk *walk, unsigned long start, unsigned long end)
{
	unsigned long addr = start, next;
	pgd_t *pgd = pgd_offset_k(addr);
	struct vmap_sections sections = {};
	int err;

	sections.first = *walk->pages ? page_to_pfn(*walk->pages) : 0;
	walk->sections = &sections;

	do {
		next = pgd_addr_end(addr, end);
		if (pgd_bad(*pgd))
			walk->mask |= PGTBL_PGD_MODIFIED;
		err = vmap_walk_p4d(walk, pgd, addr, next);
		if (err)
			break;
	} while (pgd++, addr = next, addr != end);

	if (walk->mask & ARCH_PAGE_TABLE_SYNC_MASK)
		arch_sync_kernel_mappings(start, end);

	return err;
}

/*
 * Find the alignment with which an area for @nr pages can have leaf entries of @leaf
 * pages. This is worthwhile if the pages begin with a run that covers a whole
 * aligned block of @leaf pages. For example, with @leaf 512 and a first PFN of
 * 512 * n + 7, the area should begin 7 pages after a multiple of PMD_SIZE. Then the
 * pages from index 505 on get a huge PMD mapping, if 505 + 512 pages are contiguous.
 *
 * Only both ends of the first block are compared. The walk compares all pages later,
 * and falls back to PTEs if they are not contiguous.
 *
 * For a small size, vmalloc.c tries one area of its per-node pool before it takes
 * the lock of the shared address space. Few of these areas would be at the right
 * offset. So small arrays only ask for an alignment, and only if their first half
 * looks contiguous.
 *
 * Return: the alignment, or 0 if it does not matter.
 */
static unsigned long vmap_area_align(struct page **pages, unsigned long nr,
				     unsigned long leaf, unsigned int steps)
{
	unsigned long offset, lead;

	if (!pages[0])
		return 0;
	offset = page_to_pfn(pages[0]) % leaf;
	lead = offset ? leaf - offset : 0;
	if (offset && !(steps & VMAP_PHASE))
		return 0;
	if (nr < VMAP_POOL_PAGES && (offset || pages[nr / 2] != pages[0] + nr / 2))
		return 0;
	if (nr < lead + leaf || pages[lead] != pages[0] + lead)
		return 0;
	lead += leaf - 1;
	if (pages[lead] != pages[0] + lead)
		return 0;

	return (leaf + offset) * PAGE_SIZE + (offset ? VMAP_AT_OFFSET : 0);
}

/* The alignment for the largest leaf entry that the pages can have; 0 if none matters. */
static noinline unsigned long vmap_best_align(struct page **pages, unsigned long nr,
					      unsigned long flags, pgprot_t prot)
{
	unsigned int steps = vmap_steps();
	unsigned long align = 0;

	if (!vmap_may_be_huge(steps, flags, prot))
		return 0;
	if (nr >= VMAP_PMD_PAGES)
		align = vmap_area_align(pages, nr, VMAP_PMD_PAGES, steps);
	if (!align)
		align = vmap_area_align(pages, nr, VMAP_LEAST / PAGE_SIZE, steps);

	return align;
}

/**
 * vmap_align_at_offset - get the next address at an offset from an alignment
 * @addr: where to begin
 * @align: an alignment for which vmap_is_alignment() is true
 *
 * Return: the lowest address from @addr on that has the alignment.
 */
unsigned long vmap_align_at_offset(unsigned long addr, unsigned long align)
{
	unsigned long unit, offset;

	if (is_power_of_2(align))
		return ALIGN(addr, align);

	align -= VMAP_AT_OFFSET;
	unit = rounddown_pow_of_two(align);
	offset = align - unit;
	return ALIGN(addr - offset, unit) + offset;
}

/**
 * vmap_get_area - find address space for vmap()
 * @size: size of the mapping
 * @flags: VM_MAP and other flags of the area
 * @prot: protection bits of the mapping
 * @pages: the pages that will be mapped, @size bytes of them
 * @caller: caller of vmap()
 *
 * If the pages begin with a run that is long enough, the area is placed in phase
 * with the memory: its address has the same offset from a multiple of the leaf size
 * as the physical address. Without such an address, any address is used.
 *
 * - Memory is not reclaimed for the sake of an address in phase. However, kernels
 *   before 7.0 purge all lazily freed areas when they find no address, whatever the
 *   flags are.
 * - The search skips free ranges that are larger than the area by less than the
 *   alignment plus the offset, although some of them would fit. This matters only
 *   when vmalloc space is nearly exhausted.
 * - The area has VM_UNINITIALIZED, so that vread_iter() skips it. That function walks
 *   page tables without a lock, and the mapping may free a table. The caller must
 *   clear the flag when everything is mapped, with a write barrier before it.
 *
 * Context: process context, may sleep.
 * Return: the area, or NULL if no address space is left.
 */
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller)
{
	unsigned long align = 0;
	struct vm_struct *area;

	flags |= VM_UNINITIALIZED;
	if (size >= VMAP_LEAST)
		align = vmap_best_align(pages, size >> PAGE_SHIFT, flags, prot);
	if (align) {
		area = __get_vm_area_node(size, align, PAGE_SHIFT, flags,
					  VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
					  GFP_NOWAIT, caller);
		if (area)
			return area;
	}

	return get_vm_area_caller(size, flags, caller);
}

/**
 * vmap_map_pages - map the pages of vmap()
 * @addr: start of the area
 * @end: end of the mapping
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @flags: flags of the area
 *
 * - Page i of the array is mapped at @addr + i * PAGE_SIZE, however large the leaf
 *   entries are.
 * - Leaf entries larger than a page are used for contiguous pages only. Because of
 *   them, the caller must unmap the whole mapping at once.
 * - With VM_MAP_PUT_PAGES in @flags, every leaf entry maps one page, and the caller
 *   may unmap a part.
 *
 * Context: process context, may sleep.
 * Return: 0; -EINVAL for an invalid page; -EBUSY if a PTE is in use; -ENOMEM. The
 * slow path returns -ENOMEM in all these cases. After an error, a part of the pages
 * may be mapped.
 */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags)
{
	int err;

	/* KMSAN maps the shadow pages, which need not be contiguous. */
	err = vmap_kmsan_map(addr, end, prot, pages);
	if (!err && end - addr >= VMAP_LEAST &&
	    vmap_may_be_huge(vmap_steps(), flags, prot)) {
		struct vmap_walk walk = {
			.pages = pages,
			.prot = prot,
			.max_shift = PMD_SHIFT,
			.steps = vmap_steps(),
		};

		err = vmap_walk(&walk, addr, end);
	} else if (!err) {
		err = __vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
	}
	flush_cache_vmap(addr, end);

	return err;
}

/**
 * vmap_map_blocks - map the pages of vmalloc() and similar users
 * @addr: start of the mapping
 * @end: end of the mapping, after @addr
 * @prot: protection bits of the mapping
 * @pages: pages to map, in this order
 * @page_shift: log2 of the size of the blocks in which the pages are contiguous and
 *	aligned; PAGE_SHIFT for single pages
 *
 * Leaf entries are at most as large as a block, and the caller must unmap whole
 * blocks.
 *
 * Context: process context, may sleep. With PAGE_SHIFT, as the allocation of page
 * tables in the slow path: any context in which vmalloc() may be called.
 * Return: as vmap_map_pages().
 */
int vmap_map_blocks(unsigned long addr, unsigned long end, pgprot_t prot,
		    struct page **pages, unsigned int page_shift)
{
	struct vmap_walk walk = {
		.pages = pages,
		.prot = prot,
		.max_shift = page_shift,
		.known_shift = page_shift,
		.steps = vmap_steps(),
	};

	might_sleep_if(page_shift > PAGE_SHIFT);

	return vmap_walk(&walk, addr, end);
}

/**
 * vmap_map_range - map contiguous physical addresses with one table of PTEs
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 * @phys_addr: first physical address, with or without a struct page
 * @prot: protection bits of the mapping
 * @max_page_shift: log2 of the size of the largest leaf entry allowed
 *
 * Context: any.
 * Return: true if all pages are mapped. If false, no page is mapped, and the slow
 * path reports the reason.
 */
bool vmap_map_range(pte_t *pte, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot, unsigned int max_page_shift)
{
	unsigned long nr = (end - addr) >> PAGE_SHIFT;

	if (!vmap_steps() || !vmap_ptes_none(pte, nr))
		return false;

	vmap_lazy_mmu_enable();
	arch_vmap_set_ptes(addr, pte, pfn_pte(PHYS_PFN(phys_addr), prot), nr,
			   max_page_shift);
	vmap_lazy_mmu_disable();

	return true;
}

/**
 * vmap_clear_ptes - clear PTEs of one table
 * @pte: the PTE for @addr
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 *
 * - Some may be clear already, such as the one of the guard page.
 * - Stops at a PTE that is in use but not present, and at a contiguous PTE block that
 *   is not mapped as a whole. The slow path must clear what is left, and report it.
 * - The accessed and dirty bits are not collected, because mappings of the kernel do
 *   not use them. That is why no exchange is needed: the CPU sets these bits in a
 *   valid PTE only, and atomically, so it makes no cleared PTE valid again.
 * - The TLB is not flushed.
 *
 * An architecture that sets ARCH_VMAP_BATCHES must allow a plain write to a PTE that
 * CPUs may be using.
 *
 * Context: any.
 * Return: true if all PTEs are cleared.
 */
bool vmap_clear_ptes(pte_t *pte, unsigned long addr, unsigned long end)
{
	unsigned long size;
	pte_t old;

	for (; addr != end; addr += size, pte += size >> PAGE_SHIFT) {
		size = 4 * PAGE_SIZE;
		if (end - addr >= size && arch_vmap_clear4(addr, pte))
			continue;
		size = PAGE_SIZE;
		old = ptep_get(pte);
		if (pte_none(old))
			continue;
		if (!pte_present(old))
			return false;
		size = arch_vmap_pte_range_unmap_size(addr, pte);
		if (size == PAGE_SIZE)
			pte_clear(&init_mm, addr, pte);
		else if (!IS_ALIGNED(addr, size) || end - addr < size ||
			 !arch_vmap_clear_group(pte, size >> PAGE_SHIFT))
			return false;
	}

	return true;
}
