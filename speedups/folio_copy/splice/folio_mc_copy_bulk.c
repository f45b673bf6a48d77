// SPDX-License-Identifier: GPL-2.0-only
// Precedes folio_mc_copy() in mm/util.c.

/*
 * Copies a large folio in as few pieces as possible, so that the CPU can read and write
 * ahead, which it does not across the calls that copy one page. Without preemption, a
 * piece takes a millisecond at 4 GB/s. Returns false if pages must be copied one by one,
 * or if a machine check stopped the copy.
 */
static bool folio_mc_copy_bulk(struct folio *dst, struct folio *src)
{
	const unsigned long size = folio_size(src);
	const unsigned long piece = preempt_model_preemptible() ? size : SZ_4M;
	const void *from = folio_address(src);
	void *to = folio_address(dst);
	unsigned long at;

	/* KMSAN has a shadow of each page, and other architectures may have memory tags. */
	if (!IS_ENABLED(CONFIG_ARCH_HAS_COPY_MC) || IS_ENABLED(CONFIG_KMSAN))
		return false;

	for (at = 0; at < size; at += piece) {
		cond_resched();
		if (copy_mc_to_kernel(to + at, from + at, min(size - at, piece)))
			return false;
	}

	return true;
}
