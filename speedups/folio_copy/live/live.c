// SPDX-License-Identifier: GPL-2.0-only
/* folio_copy() and folio_mc_copy() of a kernel that was built without the speed-up. */

#include <linux/copy_pages.h>
#include <linux/jump_label.h>

#include "folio_copy_internal.h"
#include "live.h"

extern struct static_key_false copy_mc_fragile_key;

/**
 * copy_mc_is_fragile - tell whether poison has to be met word by word
 *
 * Branches of a module on a key of the kernel are not patched by it, so the key
 * itself is asked.
 *
 * Return: whether a string instruction must not meet poison on this platform.
 */
bool copy_mc_is_fragile(void)
{
	return static_key_enabled(&copy_mc_fragile_key);
}

/**
 * live_folio_copy - what runs for folio_copy()
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
 * live_folio_mc_copy - what runs for folio_mc_copy()
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
