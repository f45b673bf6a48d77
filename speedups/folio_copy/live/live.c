// SPDX-License-Identifier: GPL-2.0-only
/*
 * Replacements of folio_copy() and folio_mc_copy() for a kernel that was built
 * without the speed-up.
 */

#include <linux/jump_label.h>
#include <linux/uaccess.h>
#include <asm/asm.h>
#include <asm/cpufeature.h>

/* First, because the other one asks it what the architecture has. */
#include "internal.h"
#include "folio_copy.h"
#include "live.h"

LIVE_ORIGINAL(folio_copy);
LIVE_ORIGINAL(folio_mc_copy);

extern struct static_key_false copy_mc_fragile_key;

#ifdef LIVE_STEP_STREAM
unsigned long __copy_mc_pages_streaming(void *to, const void *from, unsigned long len);
#endif

/* What is counted for each of the two functions. */
enum folio_copy_counts {
	FOLIO_COPY_DONE,
	FOLIO_COPY_LEFT_METHOD,
	FOLIO_COPY_LEFT_CPU,
	FOLIO_COPY_LEFT_PAGE,
	FOLIO_COPY_COUNTS,
};

const struct live_count live_counts[] = {
	{ "folio_copy", LIVE_DONE, "" },
	{ "folio_copy", LIVE_LEFT, "method=base" },
	{ "folio_copy", LIVE_LEFT, "no fast strings" },
	{ "folio_copy", LIVE_LEFT, "one page" },
	{ "folio_mc_copy", LIVE_DONE, "" },
	{ "folio_mc_copy", LIVE_LEFT, "method=base" },
	{ "folio_mc_copy", LIVE_LEFT, "no fast strings" },
	{ "folio_mc_copy", LIVE_LEFT, "one page" },
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/* Count a call, and return whether to handle it here. */
static bool folio_copy_live_takes(unsigned int first, unsigned long nr)
{
	enum folio_copy_counts which = FOLIO_COPY_DONE;

	if (nr == 1)
		which = FOLIO_COPY_LEFT_PAGE;
	else if (!can_copy_pages())
		which = FOLIO_COPY_LEFT_CPU;
	else if (!folio_copies_ranges())
		which = FOLIO_COPY_LEFT_METHOD;
	live_counted(first + which, nr);

	return which == FOLIO_COPY_DONE;
}

/*
 * Whether this platform must copy word by word. The kernel does not patch branches of
 * a livepatch on a static key of its own, so this function reads the key.
 */
static bool copy_mc_is_fragile(void)
{
	return static_key_enabled(&copy_mc_fragile_key);
}

/**
 * copy_mc_pages - copy pages of the direct map and survive a machine check
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * Return: 0, or the number of bytes that were not copied.
 */
unsigned long copy_mc_pages(void *to, const void *from, unsigned long npages)
{
	unsigned long words = npages << (PAGE_SHIFT - 3);

	if (copy_mc_is_fragile() || cpu_feature_enabled(X86_FEATURE_ERMS))
		return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);

	asm volatile("1: rep movsq\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT_MCE_SAFE)
		     : "+c" (words), "+D" (to), "+S" (from) : : "memory");

	return words << 3;
}

#ifdef LIVE_STEP_STREAM
/**
 * copy_mc_pages_streaming - copy_mc_pages() past the cache
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * Return: 0, or the number of bytes that were not copied.
 */
unsigned long copy_mc_pages_streaming(void *to, const void *from, unsigned long npages)
{
	if (copy_mc_is_fragile())
		return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);

	return __copy_mc_pages_streaming(to, from, npages << PAGE_SHIFT);
}
#endif

/**
 * live_folio_copy - replacement of folio_copy()
 * @dst: folio to copy to
 * @src: folio to copy from
 *
 * Context: any for one page, otherwise may sleep.
 */
void live_folio_copy(struct folio *dst, struct folio *src)
{
	unsigned long nr = folio_nr_pages(src);

	if (!folio_copy_live_takes(0, nr)) {
		live_original_folio_copy(dst, src);
		return;
	}
	copy_highpages(folio_page(dst, 0), folio_page(src, 0), nr);
	live_stay();
}

/**
 * live_folio_mc_copy - replacement of folio_mc_copy()
 * @dst: folio to copy to
 * @src: folio to copy from
 *
 * Context: any for one page, otherwise may sleep.
 * Return: 0, or -EHWPOISON with the contents of @dst undefined.
 */
int live_folio_mc_copy(struct folio *dst, struct folio *src)
{
	unsigned long nr = folio_nr_pages(src);
	int err;

	if (!folio_copy_live_takes(FOLIO_COPY_COUNTS, nr))
		return live_original_folio_mc_copy(dst, src);

	err = copy_mc_highpages(folio_page(dst, 0), folio_page(src, 0), nr);
	live_stay();

	return err;
}
