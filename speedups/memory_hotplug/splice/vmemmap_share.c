// SPDX-License-Identifier: GPL-2.0-only
// The kernel maps a shared page at one address after the other, from the top of the page
// tables each time. This function stands before the loop that does so.

/*
 * Map a page of the vmemmap at the addresses that follow @addr, up to @end or the end of
 * the page table of @pte, which is the entry of @addr. Take a reference for each of them.
 * An entry that is in use, and what follows it, is left to the caller.
 *
 * Return the last address that is done.
 */
static unsigned long __meminit vmemmap_share_page(pte_t *pte, unsigned long addr,
						  unsigned long end, struct page *page)
{
	const pte_t entry = pfn_pte(page_to_pfn(page), PAGE_KERNEL);
	const unsigned long first = addr;

	/* One event for all references would not be what is reported otherwise. */
	if (page_ref_tracepoint_active(page_ref_mod))
		return addr;

	end = pmd_addr_end(addr, end);
	for (; addr + PAGE_SIZE < end && pte_none(ptep_get(pte + 1)); addr += PAGE_SIZE)
		set_pte_at(&init_mm, addr + PAGE_SIZE, ++pte, entry);
	page_ref_add(page, (addr - first) / PAGE_SIZE);

	return addr;
}
