// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_mc_to_kernel() in arch/x86/lib/copy_mc.c.

/**
 * copy_mc_pages - copy pages of the direct map and survive a machine check
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * Only if can_copy_pages(). Without ERMS, copy_mc_to_kernel() is a plain memcpy(), in which
 * a machine check panics.
 *
 * Return: 0, or the number of bytes that were not copied. The poison can be some cache
 * lines after the first of them, because registers may lag.
 */
unsigned long __must_check copy_mc_pages(void *to, const void *from,
					 unsigned long npages)
{
	unsigned long words = npages << (PAGE_SHIFT - 3);

	if (copy_mc_fragile_enabled || cpu_feature_enabled(X86_FEATURE_ERMS))
		return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);

	asm volatile("1: rep movsq\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT_MCE_SAFE)
		     : "+c" (words), "+D" (to), "+S" (from) : : "memory");

	return words << 3;
}
