// SPDX-License-Identifier: GPL-2.0-only
// Precedes memmap_init_compound() in mm/mm_init.c.

/* Copy a tail to those after it. Returns false if nothing was written. */
static bool memmap_stream(struct page *tail, unsigned long nr)
{
	struct page *page = tail;

	/* If the tracepoint is enabled, each refcount must raise an event. */
	if (page_ref_tracepoint_active(page_ref_set) || !memcpy_streaming_ok(tail, sizeof(*tail)))
		return false;

	while (nr--)
		memcpy_streaming(++page, tail, sizeof(*tail));
	/* The caller's barriers do not order streaming stores. */
	memcpy_streaming_drain();

	return true;
}
