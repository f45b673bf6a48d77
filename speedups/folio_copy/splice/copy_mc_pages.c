// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_mc_to_kernel() in arch/x86/lib/copy_mc.c.

/**
 * copy_mc_pages - copy pages of the direct map and survive a machine check
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * copy_mc_to_kernel() is a plain memcpy() without ERMS, in which a machine check
 * panics. Here every load has an exception table entry. Platforms on which a string
 * instruction does not survive poison still copy word by word.
 *
 * Return: 0, or the number of bytes that were not copied. The poison can be some cache
 * lines after the first of them, because registers may lag.
 */
unsigned long __must_check copy_mc_pages(void *to, const void *from,
					 unsigned long npages)
{
	if (copy_mc_fragile_enabled)
		return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);

	return __copy_mc_pages(to, from, npages << PAGE_SHIFT);
}
