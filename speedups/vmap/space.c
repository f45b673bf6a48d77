// SPDX-License-Identifier: GPL-2.0-only
/* Set up the kernel's address space for all sides, and read its page table. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/pgalloc.h>
#include <linux/pgtable.h>

#include "hosted.h"
#include "space.h"

/*
 * Each side of each layout allocates areas of its own, from the same addresses on.
 * All share one page table, so only one of them may have mappings at a time.
 */
void space_init(unsigned long memory)
{
	unsigned int side, layout = hosted_layout;

	hosted_memory_init(memory);
	hosted_early_sections(1);
	for (hosted_layout = 0; hosted_layout < HOSTED_LAYOUTS; hosted_layout++) {
		for (side = 0; side < HOSTED_SIDES; side++)
			HOSTED_CALL(vmalloc_init, side);
	}
	hosted_layout = layout;
}

/*
 * Translate an address into the PTE that would map it, whatever the size of its leaf
 * entry is. Returns 0 if nothing is mapped there.
 */
u64 space_translate(unsigned long addr, enum space_leaf *leaf)
{
	pgd_t *pgd = pgd_offset_pgd(init_mm.pgd, addr);
	p4d_t *p4d;
	pud_t *pud;
	pmd_t *pmd;
	u64 pte;

	*leaf = SPACE_NONE;
	if (pgd_none(*pgd))
		return 0;
	p4d = p4d_offset(pgd, addr);
	if (p4d_none(*p4d))
		return 0;
	pud = pud_offset(p4d, addr);
	if (pud_none(*pud))
		return 0;
	pmd = pmd_offset(pud, addr);
	if (pmd_none(*pmd))
		return 0;
	if (pmd_leaf(*pmd)) {
		*leaf = SPACE_PMD;
		return PFN_PHYS(pmd_pfn(*pmd)) + (addr & ~PMD_MASK & PAGE_MASK) +
		       protval_large_2_4k(pmd_flags(*pmd) & ~_PAGE_PSE);
	}
	pte = pte_val(*pte_offset_kernel(pmd, addr));
	if (pte)
		*leaf = SPACE_PTE;
	return pte;
}

static unsigned long mapped_ptes(pmd_t *pmd)
{
	pte_t *pte = (pte_t *)pmd_page_vaddr(*pmd);
	unsigned long i, nr = 0;

	for (i = 0; i < PTRS_PER_PTE; i++)
		nr += !!pte_val(pte[i]);
	return nr;
}

static unsigned long mapped_pmds(pmd_t *pmd)
{
	unsigned long i, nr = 0;

	for (i = 0; i < PTRS_PER_PMD; i++) {
		if (pmd_leaf(pmd[i]))
			nr += PTRS_PER_PTE;
		else if (!pmd_none(pmd[i]))
			nr += mapped_ptes(pmd + i);
	}
	return nr;
}

/* Visit all tables of PMDs, and add up what the visits return. */
static unsigned long each_pmd_table(unsigned long (*visit)(pmd_t *pmd))
{
	unsigned long i, j, sum = 0;
	pud_t *pud;

	for (i = 0; i < PTRS_PER_PGD; i++) {
		/* pgd_none() is always false with four levels. */
		if (!pgd_val(init_mm.pgd[i]))
			continue;
		pud = (pud_t *)pgd_page_vaddr(init_mm.pgd[i]);
		for (j = 0; j < PTRS_PER_PUD; j++) {
			if (!pud_none(pud[j]))
				sum += visit(pud_pgtable(pud[j]));
		}
	}
	return sum;
}

/* Count the pages that the whole page table maps. */
unsigned long space_mapped(void)
{
	return each_pmd_table(mapped_pmds);
}

/* Drop all tables below the first level, so that they must be allocated again. */
void space_forget_tables(void)
{
	memset(init_mm.pgd, 0, PAGE_SIZE);
}

static unsigned long drop_tables(pmd_t *pmd)
{
	unsigned long i, nr = 0;

	for (i = 0; i < PTRS_PER_PMD; i++, pmd++) {
		if (pmd_none(*pmd) || pmd_leaf(*pmd) || mapped_ptes(pmd))
			continue;
		pte_free_kernel(&init_mm, (pte_t *)pmd_page_vaddr(*pmd));
		pmd_clear(pmd);
		nr++;
	}
	return nr;
}

/* Free the tables of PTEs that map nothing, as if their addresses had never been used. */
void space_drop_tables(void)
{
	each_pmd_table(drop_tables);
}
