// SPDX-License-Identifier: GPL-2.0-only
// Precedes copy_mc_to_user() in arch/x86/lib/copy_mc.c.

/**
 * copy_mc_pages_streaming - copy pages past the cache and survive a machine check
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * On return the copy is ordered like plain stores.
 *
 * Return: 0, or the number of bytes that were not copied.
 */
unsigned long __must_check copy_mc_pages_streaming(void *to, const void *from,
						   unsigned long npages)
{
	unsigned long len = npages << PAGE_SHIFT, left;

	if (copy_mc_fragile_enabled)
		return copy_mc_to_kernel(to, from, len);

	instrument_memcpy_before(to, from, len);
	left = __copy_mc_pages_streaming(to, from, len);
	instrument_memcpy_after(to, from, len, left);
	return left;
}
