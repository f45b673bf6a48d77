// SPDX-License-Identifier: GPL-2.0-only
// Precedes __init_single_page() in mm/mm_init.c.

/**
 * memmap_stream() - copy a tail to the struct pages after it
 * @page: tail of a compound page, complete but for the state of a folio
 * @nr: number of tails after it
 *
 * For memmaps that nobody reads soon: the copies bypass the cache. When this returns, they are
 * ordered like plain stores.
 *
 * Context: Any.
 * Return: false if each struct page must be made by itself. Then nothing was written.
 */
bool __meminit memmap_stream(struct page *page, unsigned long nr)
{
	/* What is left of an empty list holds the address of the struct page. */
	bool empty = page->lru.prev == &page->lru;
	struct page tmpl;

	/* Their flags hold their section, or each of them must raise an event. */
	if (!IS_ENABLED(CONFIG_SPARSEMEM_VMEMMAP) || page_ref_tracepoint_active(page_ref_set) ||
	    !memcpy_streams(page, sizeof(*page)))
		return false;

	memcpy(&tmpl, page, sizeof(tmpl));
	while (nr--) {
		page++;
		if (empty)
			tmpl.lru.prev = &page->lru;
		memcpy_streaming(page, &tmpl, sizeof(*page));
	}
	/* The caller's barriers do not order streaming stores. */
	memcpy_streaming_drain();
	return true;
}
