// SPDX-License-Identifier: GPL-2.0-only
/* Memory with folios, and the call that clears one. */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <../mm/internal.h>

#include "folios.h"

HOSTED_ENTRY(folio_zero_user);

/* Aligned to the largest folio. */
#define FIRST_PFN	(1UL << 20)
/* Where the process maps its folios; aligned likewise. */
#define USER_ADDRESS	(1UL << 45)

void folios_map(void *memory, unsigned long bytes)
{
	unsigned long size = (bytes >> PAGE_SHIFT) * sizeof(struct page);

	page_offset_base = (unsigned long)memory - PFN_PHYS(FIRST_PFN);
	hosted_memmap_at(memset(hosted_arena(size), 0, size), FIRST_PFN);
}

void *folios_address(unsigned long i)
{
	return page_address(pfn_to_page(FIRST_PFN + i));
}

void folios_make(unsigned long i, unsigned int order)
{
	struct folio *folio = (struct folio *)pfn_to_page(FIRST_PFN + i);

	memset(folio, 0, sizeof(struct page) << min(order, 2U));
	if (order) {
		__SetPageHead(&folio->page);
		folio_set_order(folio, order);
	}
}

void folios_zero(enum hosted_side side, unsigned long i, unsigned long touched)
{
	HOSTED_CALL(folio_zero_user, side, (struct folio *)pfn_to_page(FIRST_PFN + i),
		    USER_ADDRESS + ((i + touched) << PAGE_SHIFT));
}
