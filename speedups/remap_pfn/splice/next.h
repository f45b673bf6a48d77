// SPDX-License-Identifier: GPL-2.0-only
// pte_next_special() of all architectures, in mm/internal.h.

#ifndef pte_next_special
/**
 * pte_next_special() - Make the special page table entry of the next page.
 * @pte: Special page table entry of the page before.
 * @pfn: Page frame number of the next page.
 * @prot: Protection of both.
 *
 * An architecture defines this where it costs less to advance @pte.
 *
 * Return: Special page table entry for @pfn with @prot.
 */
static inline pte_t pte_next_special(pte_t pte, unsigned long pfn, pgprot_t prot)
{
	return pte_mkspecial(pfn_pte(pfn, prot));
}
#endif
