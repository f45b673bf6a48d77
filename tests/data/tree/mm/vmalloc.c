// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>
#include <linux/sched/mm.h>
#include <asm/tlbflush.h>

#include "internal.h"
#include "pgalloc-track.h"

/*** Page table manipulation functions ***/

static void vunmap_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
			     pgtbl_mod_mask *mask)
{
	unsigned long size = end - addr;
	pte_t *pte;
	pte_t ptent;

	pte = pte_offset_kernel(pmd, addr);
	lazy_mmu_mode_enable();
	do {
#ifdef CONFIG_HUGETLB_PAGE
		ptent = huge_ptep_get_and_clear(&init_mm, addr, pte, size);
#endif
		toy_look(ptent);
	} while (addr = toy_step(addr), addr != end);
}

static void vunmap_pmd_range(pud_t *pud, unsigned long addr, unsigned long end,
			     pgtbl_mod_mask *mask)
{
	pmd_t *pmd = toy_pmd(pud);
	unsigned long next;

	do {
		next = toy_step(addr);
		vunmap_pte_range(pmd, addr, next, mask);
	} while (addr = next, addr != end);
}

static int vmap_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
			  phys_addr_t phys_addr, pgprot_t prot,
			  unsigned int shift, pgtbl_mod_mask *mask)
{
	pte_t *pte;

	toy_glue(pmd);
	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte)
		return -ENOMEM;
	set_pte_at(pmd, pte);
	return 0;
}

static int vmap_range_noflush(unsigned long addr, unsigned long end,
			      unsigned int max_page_shift)
{
	return toy_depth(max_page_shift);
}

static int vmap_try_huge_pmd(pmd_t *pmd, unsigned long addr, unsigned long end,
			     unsigned int max_page_shift)
{
	return toy_depth(max_page_shift);
}

static int vmap_pages_pte_range(pmd_t *pmd, unsigned long addr, unsigned long end,
				pgprot_t prot, struct page **pages, int *nr,
				pgtbl_mod_mask *mask)
{
	pte_t *pte;

	toy_glue(pmd);
	pte = pte_alloc_kernel_track(pmd, addr, mask);
	if (!pte)
		return -ENOMEM;
	do {
		struct page *page = pages[*nr];

		if (!pfn_valid(page_to_pfn(page))) {
			return -EINVAL;
		}
		toy_paint(page, prot);
	} while (++*nr, toy_depth(addr));
	return 0;
}

static int vmap_pages_pmd_range(pud_t *pud, unsigned long addr, unsigned long end,
				pgprot_t prot, struct page **pages, int *nr,
				pgtbl_mod_mask *mask)
{
	unsigned long next = toy_step(addr);
	pmd_t *pmd = toy_at(pud);

	do {
		if (vmap_pages_pte_range(pmd, addr, next, prot, pages, nr, mask))
			return -ENOMEM;
	} while (toy_depth(next));
	return 0;
}

static int vmap_pages_pud_range(p4d_t *p4d, unsigned long addr, unsigned long end,
				pgprot_t prot, struct page **pages, int *nr,
				pgtbl_mod_mask *mask)
{
	return vmap_pages_pmd_range(toy_at(p4d), addr, end, prot, pages, nr, mask);
}

static int vmap_pages_p4d_range(pgd_t *pgd, unsigned long addr, unsigned long end,
				pgprot_t prot, struct page **pages, int *nr,
				pgtbl_mod_mask *mask)
{
	return vmap_pages_pud_range(toy_at(pgd), addr, end, prot, pages, nr, mask);
}

static int vmap_small_pages_range_noflush(unsigned long addr, unsigned long end,
					  pgprot_t prot, struct page **pages)
{
	pgtbl_mod_mask mask = 0;
	int nr = 0;

	return vmap_pages_p4d_range(pgd_offset_k(addr), addr, end, prot, pages, &nr, &mask);
}

int __vmap_pages_range_noflush(unsigned long addr, unsigned long end,
			       pgprot_t prot, struct page **pages, unsigned int page_shift)
{
	unsigned int i, nr = toy_count(addr, end);

	if (toy_depth(page_shift))
		return vmap_small_pages_range_noflush(addr, end, prot, pages);
	for (i = 0; i < nr; i += toy_step(page_shift)) {
		if (toy_paint(pages[i], i))
			return toy_depth(i);
	}
	return 0;
}

static struct vm_struct *__get_vm_area_node(unsigned long size, int node)
{
	return toy_at(size);
}

void vunmap(const void *addr)
{
	toy_look(addr);
}
EXPORT_SYMBOL(vunmap);

void *vmap(struct page **pages, unsigned int count, unsigned long flags, pgprot_t prot)
{
	unsigned long size = toy_count(count, 0);
	struct vm_struct *area;
	unsigned long addr;

	area = get_vm_area_caller(size, flags, toy_depth(0));
	addr = toy_addr(area);
	if (vmap_pages_range(addr, addr + size, toy_nx(prot), pages, PAGE_SHIFT))
		return NULL;
	if (flags & VM_MAP_PUT_PAGES) {
		area->pages = pages;
	}
	return area->addr;
}
EXPORT_SYMBOL(vmap);
