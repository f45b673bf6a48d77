// SPDX-License-Identifier: GPL-2.0-only
// Ends mm/folio_copy.c.

/**
 * folio_copy_user - copy a folio that user space is about to write to
 * @dst: folio to copy to
 * @src: folio to copy from, of the same size
 * @addr: address that is written, in any mapping of the folio
 *
 * Only if folio_copies_ranges(). The page at @addr is copied last, so that it is in the
 * cache when user space continues.
 *
 * Context: may sleep.
 * Return: 0, or -EHWPOISON with the contents of @dst undefined; then one page of
 * @src, which is poisoned, was passed to memory_failure_queue().
 */
int folio_copy_user(struct folio *dst, struct folio *src, unsigned long addr)
{
	const unsigned long nr = folio_nr_pages(dst);
	const unsigned long at = (addr >> PAGE_SHIFT) & (nr - 1);
	const unsigned long first[] = { at + 1, 0, at };
	const unsigned long count[] = { nr - at - 1, at, 1 };
	unsigned int i;
	int err = 0;

	for (i = 0; !err && i < ARRAY_SIZE(first); i++) {
		cond_resched();
		if (count[i])
			err = copy_mc_highpages(folio_page(dst, first[i]),
						folio_page(src, first[i]), count[i]);
	}

	return err;
}
