// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacements of folio_copy() and folio_mc_copy() for a kernel that was built
 * without the speed-up.
 */

#include <linux/copy_pages.h>
#include <linux/jump_label.h>

#include "folio_copy.h"
#include "live.h"

extern struct static_key_false copy_mc_fragile_key;

/**
 * copy_mc_is_fragile - get whether this platform must copy word by word
 *
 * The kernel does not patch branches of a livepatch on a static key of its own, so
 * this function reads the key.
 *
 * Return: true if a string instruction does not survive poison on this platform.
 */
bool copy_mc_is_fragile(void)
{
	return static_key_enabled(&copy_mc_fragile_key);
}

/**
 * live_folio_copy - replacement of folio_copy()
 * @dst: folio to copy to
 * @src: folio to copy from
 *
 * Context: as copy_highpages().
 */
void live_folio_copy(struct folio *dst, struct folio *src)
{
	copy_highpages(folio_page(dst, 0), folio_page(src, 0),
		       folio_nr_pages(src));
	live_stay();
}

/**
 * live_folio_mc_copy - replacement of folio_mc_copy()
 * @dst: folio to copy to
 * @src: folio to copy from
 *
 * Context: as copy_mc_highpages().
 * Return: 0, or -EHWPOISON with the contents of @dst undefined.
 */
int live_folio_mc_copy(struct folio *dst, struct folio *src)
{
	int err;

	err = copy_mc_highpages(folio_page(dst, 0), folio_page(src, 0),
				folio_nr_pages(src));
	live_stay();

	return err;
}
