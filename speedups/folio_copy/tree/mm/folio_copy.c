// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy the contents of folios in as few pieces as possible.
 *
 * A folio is contiguous in the direct map. In one long copy the CPU can prefetch and
 * store ahead, which a loop over pages interrupts at the end of every page.
 */

#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/uaccess.h>

#include "folio_copy.h"

/*
 * Pages are copied one by one if there is more to copy than their bytes: they may need
 * a mapping, have memory tags or KMSAN shadow, or be flushed when they are unmapped.
 */
#if defined(CONFIG_HIGHMEM) || defined(__HAVE_ARCH_COPY_HIGHPAGE) || \
	defined(ARCH_HAS_FLUSH_ON_KUNMAP) || defined(CONFIG_KMSAN)
#define FOLIO_COPY_BY_PAGE	true
#else
#define FOLIO_COPY_BY_PAGE	false
#endif

unsigned long folio_copy_bulk(void *to, const void *from, unsigned long npages)
{
#ifdef copy_pages
	copy_pages(to, from, npages);
#else
	for (; npages; npages--, to += PAGE_SIZE, from += PAGE_SIZE)
		copy_page(to, (void *)from);
#endif
	return 0;
}

unsigned long folio_copy_mc_bulk(void *to, const void *from, unsigned long npages)
{
#if defined(copy_mc_pages)
	return copy_mc_pages(to, from, npages);
#elif defined(copy_mc_to_kernel)
	return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);
#else
	return folio_copy_bulk(to, from, npages);
#endif
}

/* Returns how to copy @nr pages together, or NULL to copy them one by one. */
folio_copy_fn *folio_copy_way(unsigned long nr, bool mc)
{
	if (FOLIO_COPY_BY_PAGE || nr == 1)
		return NULL;

	return mc ? folio_copy_mc_bulk : folio_copy_bulk;
}

/*
 * Without preemption, reschedule after pieces that take a millisecond at 4 GB/s. Some
 * architectures count the bytes of a copy in 32 bits.
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

static int folio_copy_pages(struct page *to, struct page *from, unsigned long nr, bool mc)
{
	folio_copy_fn *copy = folio_copy_way(nr, mc);
	unsigned long done = 0;

	if (copy) {
		done = folio_copy_range(copy, page_address(to), page_address(from), nr,
					folio_copy_unit());
		if (done == nr)
			return 0;
		memory_failure_queue(page_to_pfn(from) + done, 0);
		return -EHWPOISON;
	}

	for (;;) {
		if (!mc)
			copy_highpage(to, from);
		else if (copy_mc_highpage(to, from))
			return -EHWPOISON;
		if (++done == nr)
			return 0;
		cond_resched();
		to = pfn_to_page(page_to_pfn(to) + 1);
		from = pfn_to_page(page_to_pfn(from) + 1);
	}
}

/**
 * copy_highpages - copy physically contiguous pages
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * The result is that of copy_highpage() on each page.
 *
 * Context: any for one page; may reschedule between pages.
 */
void copy_highpages(struct page *to, struct page *from, unsigned long nr)
{
	folio_copy_pages(to, from, nr, false);
}

/**
 * copy_mc_highpages - copy_highpages() that survives machine checks
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * The first page whose source is poisoned is passed to memory_failure_queue().
 *
 * Context: any for one page; may reschedule between pages.
 * Return: 0, or -EHWPOISON with the contents of the destination undefined.
 */
int copy_mc_highpages(struct page *to, struct page *from, unsigned long nr)
{
	return folio_copy_pages(to, from, nr, true);
}
