// SPDX-License-Identifier: GPL-2.0-only
/* Replacement of folio_mc_copy() for a kernel that was built without the speed-up. */

#include <linux/jump_label.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <asm/cpufeature.h>

#include "internal.h"
#include "live.h"
#ifdef LIVE_STEP_METHODS
#include "folio_copy_method.h"
#endif

LIVE_ORIGINAL(folio_mc_copy);

extern struct static_key_false copy_mc_fragile_key;

enum folio_copy_counts {
	FOLIO_COPY_DONE,
	FOLIO_COPY_LEFT_METHOD,
	FOLIO_COPY_LEFT_POISON,
	FOLIO_COPY_LEFT_PAGE,
};

const struct live_count live_counts[] = {
	{ "folio_mc_copy", LIVE_DONE, "" },
	{ "folio_mc_copy", LIVE_LEFT, "method=base" },
	{ "folio_mc_copy", LIVE_LEFT, "poison" },
	{ "folio_mc_copy", LIVE_LEFT, "one page" },
};

const unsigned int live_nr_counts = ARRAY_SIZE(live_counts);

/*
 * Whether this platform must copy word by word. The kernel does not patch branches of
 * a livepatch on a static key of its own, so this function reads the key.
 */
static bool copy_mc_is_fragile(void)
{
	return static_key_enabled(&copy_mc_fragile_key);
}

/**
 * live_copy_mc_to_kernel - copy pages by the running kernel's copy_mc_to_kernel()
 * @to: destination
 * @from: source
 * @len: number of bytes
 *
 * Where that is a slow memcpy(), copy by rep movsq. In both a machine check panics.
 *
 * Return: 0, or the number of bytes that were not copied.
 */
unsigned long live_copy_mc_to_kernel(void *to, const void *from, unsigned long len)
{
	if (!copy_mc_is_fragile() && !cpu_feature_enabled(X86_FEATURE_ERMS) &&
	    cpu_feature_enabled(X86_FEATURE_REP_GOOD)) {
		unsigned long words = len >> 3;

		asm volatile("rep movsq"
			     : "+c" (words), "+D" (to), "+S" (from) : : "memory");
		return 0;
	}

	return (copy_mc_to_kernel)(to, from, len);
}

#ifdef LIVE_STEP_STREAM
unsigned long __copy_mc_pages_streaming(void *to, const void *from, unsigned long len);

/**
 * copy_mc_pages_streaming - copy pages past the cache and survive a machine check
 * @to: destination
 * @from: source
 * @npages: number of pages, at least 1 and at most 1 GiB
 *
 * Return: 0, or the number of bytes that were not copied.
 */
unsigned long copy_mc_pages_streaming(void *to, const void *from, unsigned long npages)
{
	if (copy_mc_is_fragile())
		return (copy_mc_to_kernel)(to, from, npages << PAGE_SHIFT);

	return __copy_mc_pages_streaming(to, from, npages << PAGE_SHIFT);
}
#endif

/* Copies pages, or returns what to count instead. */
static enum folio_copy_counts folio_copy_live(struct folio *dst, struct folio *src)
{
	const unsigned long size = folio_size(src);
	const unsigned long piece = preempt_model_preemptible() ? size : SZ_4M;
	const void *from = folio_address(src);
	void *to = folio_address(dst);
	unsigned long at, left;
	u64 started;
#ifdef LIVE_STEP_METHODS
	folio_copy_fn *copy = folio_copy_chosen();
#endif

	if (size == PAGE_SIZE)
		return FOLIO_COPY_LEFT_PAGE;
#ifdef LIVE_STEP_METHODS
	if (!copy)
		return FOLIO_COPY_LEFT_METHOD;
#endif

	started = local_clock();
	for (at = 0; at < size; at += piece) {
		cond_resched();
#ifdef LIVE_STEP_METHODS
		left = copy(to + at, from + at, min(size - at, piece) >> PAGE_SHIFT);
#else
		left = live_copy_mc_to_kernel(to + at, from + at, min(size - at, piece));
#endif
		if (left)
			return FOLIO_COPY_LEFT_POISON;
	}

	live_timed(FOLIO_COPY_DONE, started);
	return FOLIO_COPY_DONE;
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
	enum folio_copy_counts which = folio_copy_live(dst, src);

	live_counted(which, folio_nr_pages(src));
	if (which != FOLIO_COPY_DONE)
		return live_original_folio_mc_copy(dst, src);
	live_stay();

	return 0;
}
