// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy the contents of folios in as few pieces as possible.
 *
 * A folio is contiguous in the direct map. In one long copy the CPU can prefetch and
 * store ahead, which a loop over pages interrupts at the end of every page.
 */

#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "folio_copy.h"
#include "internal.h"

#ifdef can_copy_pages

static unsigned long folio_copy_bulk(void *to, const void *from, unsigned long npages)
{
	copy_pages(to, from, npages);
	return 0;
}

/*
 * Without preemption, reschedule after pieces that take a millisecond at 4 GB/s.
 * copy_mc_to_kernel() counts bytes in 32 bits.
 */
static unsigned long folio_copy_unit(void)
{
	return (preempt_model_preemptible() ? SZ_1G : SZ_4M) >> PAGE_SHIFT;
}

/* Copies pages until one is poisoned, and returns the number of those before it. */
unsigned long folio_copy_range(folio_copy_fn *copy, void *to, const void *from,
			       unsigned long nr, unsigned long unit)
{
	unsigned long done = 0, n = min(nr, unit), left;

	might_sleep_if(nr > 1);
	for (;;) {
		left = copy(to + (done << PAGE_SHIFT), from + (done << PAGE_SHIFT), n);
		done += n - DIV_ROUND_UP(left, PAGE_SIZE);
		if (done == nr)
			return nr;

		/*
		 * After a machine check, registers may lag by some cache lines. If they
		 * are near the end of a page, copy this page again, alone: if it is good,
		 * the poison is at the start of the next one.
		 */
		if (left && (n == 1 || offset_in_page(-left) < PAGE_SIZE - SZ_1K))
			return done;
		n = left ? 1 : min(nr - done, unit);
		if (!left)
			cond_resched();
	}
}

/**
 * copy_highpages - copy physically contiguous pages
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * Only if folio_copies_ranges(). The result is that of copy_highpage() on each page.
 *
 * Context: any for one page, otherwise may sleep.
 */
void copy_highpages(struct page *to, struct page *from, unsigned long nr)
{
	folio_copy_range(folio_copy_bulk, page_address(to), page_address(from), nr,
			 folio_copy_unit());
}

/**
 * copy_mc_highpages - copy_highpages() that survives machine checks
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * The first page whose source is poisoned is passed to memory_failure_queue().
 *
 * Context: any for one page, otherwise may sleep.
 * Return: 0, or -EHWPOISON with the contents of the destination undefined.
 */
int copy_mc_highpages(struct page *to, struct page *from, unsigned long nr)
{
	unsigned long done;

	done = folio_copy_range(copy_mc_pages, page_address(to), page_address(from), nr,
				folio_copy_unit());
	if (done == nr)
		return 0;

	memory_failure_queue(page_to_pfn(from) + done, 0);
	return -EHWPOISON;
}

#endif /* can_copy_pages */
