// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mapping of contiguous memory in batches: by vmap(), whose pages may follow
 * each other by luck or because they were allocated so; by vmalloc() with huge
 * pages; by ioremap().
 *
 * One pass over the pages and one over the page table. At each place the walk
 * looks at the pages themselves, which costs a scattered array one comparison a
 * page and finds every run, wherever it begins. Compound pages are not trusted:
 * the array may hold their parts in any order.
 */

#include "vmap_internal.h"

/*
 * Within so many pages, aligned, pfn_valid() has one answer and neighbours in
 * memory are neighbours in the memmap. Those that map in batches have sections,
 * and let pfn_valid() go by them; for others it stays right, and is slow.
 */
#if defined(CONFIG_HAVE_ARCH_PFN_VALID) || !defined(CONFIG_SPARSEMEM)
#define VMAP_UNIT	1UL
#elif defined(CONFIG_SPARSEMEM_VMEMMAP)
#define VMAP_UNIT	PAGES_PER_SUBSECTION
#else
#define VMAP_UNIT	PAGES_PER_SECTION
#endif

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

/* vmalloc.c keeps areas of less than so many pages, apart from the guard, by size. */
#define VMAP_KEPT_PAGES	256UL

/**
 * struct vmap_walk - one pass over an array of pages
 * @pages: the next to be mapped
 * @run: how many of them follow each other, 0 before anyone has looked
 * @prot: of the mapping
 * @max_shift: no leaf may be larger
 * @known_shift: the caller knows that aligned blocks of the array, of this
 *	size, are aligned and contiguous in memory
 * @steps: what may be done in batches
 * @mask: levels of the page table that were changed
 */
struct vmap_walk {
	struct page **pages;
	unsigned long run;
	pgprot_t prot;
	unsigned int max_shift;
	unsigned int known_shift;
	unsigned int steps;
	pgtbl_mod_mask mask;
};

/* How many of the next @max pages, the first included, follow each other. */
static __always_inline unsigned long vmap_run(struct page **pages, unsigned long max)
{
	struct page *page = pages[0];
	unsigned long nr = 0;

	for (; nr + 8 <= max && arch_vmap_follow8(pages, page); nr += 8, pages += 8)
		page += 8;

	/* Straight-line, since the loop costs more than what it looks at. */
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

/* Whether the next @nr pages can be mapped by one leaf. */
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
	/* Tells blocks from pages that only begin like one, at no cost. */
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
 * Map the pages that follow each other, from *@pages on and at most @max.
 *
 * Return: how many, or 0 where something is mapped already.
 */
static noinline unsigned long vmap_map_run(const struct vmap_walk *walk,
					   struct page **pages, unsigned long addr,
					   pte_t *pte, unsigned long max)
{
	unsigned long unit = VMAP_UNIT - page_to_pfn(*pages) % VMAP_UNIT;
	unsigned long nr = min(max, unit);

	/* Whoever looked for a block here has counted. */
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

		if (WARN_ON(!page)) {
			err = -EINVAL;
			break;
		}
		pfn = page_to_pfn(page);
		if (WARN_ON(!pfn_valid(pfn))) {
			err = -EINVAL;
			break;
		}

		if (i < last && pages[i + 1] == page + 1) {
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
	int err;

	/* The levels below write an entry before they look for the end. */
	if (addr >= end)
		return WARN_ON_ONCE(addr > end) ? -EINVAL : 0;

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
 * Whether a mapping by vmap() may have leafs above the PTE. set_memory_*() of
 * riscv changes the whole of a leaf when it is asked for a page of it. Pages that
 * the area owns may be unmapped and freed from its end, by vrealloc().
 */
static bool vmap_may_be_huge(unsigned int steps, unsigned long flags, pgprot_t prot)
{
	return (steps & VMAP_PMD) && !(flags & VM_MAP_PUT_PAGES) &&
	       !IS_ENABLED(CONFIG_RISCV) &&
	       vmap_huge_allowed() && arch_vmap_pmd_supported(prot);
}

/*
 * With which alignment an area for @nr pages can have leafs of @leaf pages, if
 * they begin with a run that has room for one; else 0. Looks at both ends of the
 * first would-be block only, since the walk will look at all, and may say no.
 *
 * Of areas that are kept by size, vmalloc.c looks at one before it goes to what all
 * CPUs share. Most would be of no use if an offset were asked for; so these ask for
 * an alignment only, and if half of them looks like one run.
 */
static unsigned long vmap_area_align(struct page **pages, unsigned long nr,
				     unsigned long leaf, unsigned int steps)
{
	unsigned long behind, lead;

	if (!pages[0])
		return 0;
	behind = page_to_pfn(pages[0]) % leaf;
	lead = behind ? leaf - behind : 0;
	if (behind && !(steps & VMAP_PHASE))
		return 0;
	if (nr < VMAP_KEPT_PAGES && (behind || pages[nr / 2] != pages[0] + nr / 2))
		return 0;
	if (nr < lead + leaf || pages[lead] != pages[0] + lead)
		return 0;
	lead += leaf - 1;
	if (pages[lead] != pages[0] + lead)
		return 0;

	return (leaf + behind) * PAGE_SIZE + (behind ? VMAP_BEHIND : 0);
}

/**
 * vmap_get_area - find address space for vmap()
 * @size: of the mapping
 * @flags: VM_MAP and the like
 * @prot: of the mapping
 * @pages: what will be mapped, @size of it
 * @caller: of vmap()
 *
 * Asks for address space in phase with the memory, so that large leafs fit, if
 * the pages begin with a run that is worth it. Where there is none, any address
 * will do.
 *
 * - Nothing is reclaimed for the sake of an address in phase. Kernels before 7.0
 *   give back all lazily freed areas when they find none, whoever asks.
 * - The search may leave out free space that is larger than the area by less than
 *   the alignment and the offset together, although less may be enough. That
 *   matters where address space is about to run out.
 *
 * Context: process context, may sleep.
 * Return: the area, or NULL if no address space is left.
 */
struct vm_struct *vmap_get_area(unsigned long size, unsigned long flags,
				pgprot_t prot, struct page **pages,
				const void *caller)
{
	const unsigned long group = BIT(ARCH_VMAP_GROUP_SHIFT - PAGE_SHIFT);
	unsigned int steps = vmap_steps();
	unsigned long align = 0;
	struct vm_struct *area;

	if (size >= PMD_SIZE && vmap_may_be_huge(steps, flags, prot))
		align = vmap_area_align(pages, size >> PAGE_SHIFT, VMAP_PMD_PAGES,
					steps);
	if (!align && group > 1 && size >= group * PAGE_SIZE &&
	    vmap_may_be_huge(steps, flags, prot))
		align = vmap_area_align(pages, size >> PAGE_SHIFT, group, steps);
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
 * @prot: of the mapping
 * @pages: to be mapped, in this order
 * @flags: of the area
 *
 * - Every page is mapped at its place, whatever leafs are used for it.
 * - A leaf above the PTE is used for pages that follow each other only. The
 *   mapping must be removed as a whole.
 * - With VM_MAP_PUT_PAGES there are PTEs only, and parts may be removed.
 *
 * Context: process context, may sleep.
 * Return: 0; -EINVAL for a page that is none, -EBUSY where something is mapped
 * already, -ENOMEM. The slow path has -ENOMEM for all of these. After an error a
 * part may be mapped.
 */
int vmap_map_pages(unsigned long addr, unsigned long end, pgprot_t prot,
		   struct page **pages, unsigned long flags)
{
	struct vmap_walk walk = {
		.pages = pages,
		.prot = prot,
		.max_shift = PAGE_SHIFT,
		.steps = vmap_steps(),
	};
	int err;

	/* Shadow pages are not contiguous where these are. */
	err = vmap_kmsan_map(addr, end, prot, pages);
	if (!err && walk.steps) {
		if (vmap_may_be_huge(walk.steps, flags, prot))
			walk.max_shift = PMD_SHIFT;
		err = vmap_walk(&walk, addr, end);
	} else if (!err) {
		err = __vmap_pages_range_noflush(addr, end, prot, pages, PAGE_SHIFT);
	}
	flush_cache_vmap(addr, end);

	return err;
}

/**
 * vmap_map_blocks - map the pages of a huge vmalloc()
 * @addr: start of the mapping
 * @end: end of the mapping
 * @prot: of the mapping
 * @pages: to be mapped, in this order
 * @page_shift: the pages are contiguous, and aligned, in blocks of this size
 *
 * Leafs are as large as @page_shift at most, and the mapping must be removed in
 * whole blocks. An empty range is none to complain of.
 *
 * Context: process context, may sleep.
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

	might_sleep();

	return vmap_walk(&walk, addr, end);
}

/**
 * vmap_map_range - map contiguous physical addresses with one table of PTEs
 * @pmd: entry that the table hangs on, or will hang on
 * @addr: start of the mapping
 * @end: end of the mapping, in the same table
 * @phys_addr: start of what is mapped, with or without a memmap
 * @prot: of the mapping
 * @max_page_shift: no leaf may be larger
 * @mask: levels of the page table that were changed
 *
 * Context: process context, may sleep.
 * Return: whether all is mapped. If not, nothing is, and the slow path will find
 * out why.
 */
bool vmap_map_range(pmd_t *pmd, unsigned long addr, unsigned long end,
		    phys_addr_t phys_addr, pgprot_t prot,
		    unsigned int max_page_shift, pgtbl_mod_mask *mask)
{
	unsigned long nr = (end - addr) >> PAGE_SHIFT;
	pte_t *pte;

	if (!vmap_steps())
		return false;

	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte || !vmap_ptes_none(pte, nr))
		return false;

	vmap_lazy_mmu_enable();
	arch_vmap_set_ptes(addr, pte, pfn_pte(PHYS_PFN(phys_addr), prot), nr,
			   max_page_shift);
	vmap_lazy_mmu_disable();
	*mask |= PGTBL_PTE_MODIFIED;

	return true;
}

/**
 * vmap_clear_group - unmap PTEs that are one leaf to the CPU
 * @ptep: the first of them
 * @size: of what they map
 *
 * - Nobody is told whether the memory was written to or read: of a mapping by the
 *   kernel, nobody asks.
 * - The TLB is not flushed.
 *
 * Context: any.
 * Return: whether they are unmapped. If not, nothing is, and the slow path has to.
 */
bool vmap_clear_group(pte_t *ptep, unsigned long size)
{
	return vmap_steps() && arch_vmap_clear_group(ptep, size >> PAGE_SHIFT);
}
