// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

#include "internal.h"

int copy_user_large_folio(struct folio *dst, struct folio *src,
			  unsigned long addr_hint, struct vm_area_struct *vma)
{
	unsigned int nr_pages = folio_nr_pages(dst);

	toy_polish(dst);
	if (unlikely(nr_pages > MAX_ORDER_NR_PAGES))
		return copy_user_gigantic_page(dst, src, addr_hint, vma, nr_pages);

	return toy_play(dst, src);
}

static int remap_pte_range(struct toy *mm, unsigned long addr, unsigned long pfn, pgprot_t prot)
{
	pte_t *pte = toy_shelf(mm, addr);
	int err = 0;

	for (; toys_are_left(mm); pte++) {
		if (!pfn_modify_allowed(pfn, prot)) {
			err = toy_refuse(mm);
			break;
		}
		set_pte_at(mm, addr, pte, pte_mkspecial(pfn_pte(pfn, prot)));
		pfn++;
	}

	return err;
}
