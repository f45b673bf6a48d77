// SPDX-License-Identifier: GPL-2.0-only
// In mm/vmalloc.c: pages that are in no run, each looked up in what is known of its section.

static noinline unsigned long vmap_map_singles(struct vmap_sections *sections,
					       struct page **pages, pgprot_t prot,
					       unsigned long addr, pte_t *pte, unsigned long max)
{
	pte_t zero = pfn_pte(0, prot);
	unsigned long nr, pfn;

	for (nr = 0; nr < max; nr++) {
		/* Without SPARSEMEM_VMEMMAP, page_to_pfn() reads the struct page. */
		if (!IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) && !pages[nr])
			break;
		pfn = page_to_pfn(pages[nr]);
		if (vmap_may_be_run(pages + nr, max - nr) ||
		    !vmap_pfn_valid(sections, pfn) || !pte_none(ptep_get(pte + nr)))
			break;
		set_pte_at(&init_mm, addr + nr * PAGE_SIZE, pte + nr,
			   pte_advance_pfn(zero, pfn));
	}

	return nr;
}
