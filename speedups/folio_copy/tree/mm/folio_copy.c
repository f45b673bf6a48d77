// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copy the contents of folios in as few pieces as possible.
 *
 * A folio is contiguous in memory and, without HIGHMEM, in the direct map. In one
 * long copy the CPU can prefetch and store ahead, which a loop over pages interrupts
 * at the end of every page.
 *
 * - Where a page is more than its bytes, pages are copied one by one: see
 *   FOLIO_COPY_BY_PAGE.
 * - A single page is copied as before.
 * - Kernels without preemption call cond_resched() after every FOLIO_COPY_UNIT, but
 *   never before the first or after the last piece. So a copy of one page is allowed
 *   in atomic context.
 * - After a machine check, the poisoned page is reported once, and no other page.
 */

#include <linux/copy_pages.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/streaming_copy.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "folio_copy.h"
#include "method.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"folio_copy."

/*
 * Whether pages must be copied one by one. They must if a page needs a mapping of its
 * own, or if there is more to copy than its bytes: it may have memory tags, a cache
 * to flush when the page is unmapped, or KMSAN shadow, which is not contiguous.
 */
#if defined(CONFIG_HIGHMEM) || defined(__HAVE_ARCH_COPY_HIGHPAGE) || \
	defined(ARCH_HAS_FLUSH_ON_KUNMAP) || defined(CONFIG_KMSAN)
#define FOLIO_COPY_BY_PAGE	true
#else
#define FOLIO_COPY_BY_PAGE	false
#endif

/* Copying this many pages takes a millisecond at 4 GB/s. */
#define FOLIO_COPY_UNIT		(SZ_4M >> PAGE_SHIFT)

/*
 * When a CPU takes a machine check, its registers may lag behind the poisoned load
 * by some cache lines, but not by pages. So the poisoned page is the one that the
 * registers point to or the next one, and both are tested.
 */
#define FOLIO_COPY_SUSPECTS	2

static void folio_copy_memcpy(void *to, const void *from, unsigned long npages)
{
	memcpy(to, from, npages << PAGE_SHIFT);
}

static unsigned long folio_copy_mc_memcpy(void *to, const void *from,
					  unsigned long npages)
{
#ifdef copy_mc_to_kernel
	return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);
#else
	folio_copy_memcpy(to, from, npages);
	return 0;
#endif
}

static void folio_copy_bulk(void *to, const void *from, unsigned long npages)
{
	copy_pages(to, from, npages);
}

static unsigned long folio_copy_mc_bulk(void *to, const void *from,
					unsigned long npages)
{
	return copy_mc_pages(to, from, npages);
}

static void folio_copy_stream(void *to, const void *from, unsigned long npages)
{
	memcpy_streaming(to, from, npages << PAGE_SHIFT);
	memcpy_streaming_drain();
}

static unsigned long folio_copy_mc_stream(void *to, const void *from,
					  unsigned long npages)
{
	unsigned long left = copy_mc_pages_streaming(to, from, npages);

	memcpy_streaming_drain();
	return left;
}

static void folio_copy_auto(void *to, const void *from, unsigned long npages);
static unsigned long folio_copy_mc_auto(void *to, const void *from,
					unsigned long npages);

static const struct folio_copy_method folio_copy_base = { .name = "base" };

static const struct folio_copy_method folio_copy_methods[] = {
	{ "auto",	folio_copy_auto,	folio_copy_mc_auto },
	{ "memcpy",	folio_copy_memcpy,	folio_copy_mc_memcpy },
	{ "bulk",	folio_copy_bulk,	folio_copy_mc_bulk },
	{ "stream",	folio_copy_stream,	folio_copy_mc_stream },
};

#define FOLIO_COPY_BULK		(&folio_copy_methods[2])
#define FOLIO_COPY_STREAM	(&folio_copy_methods[3])

static const struct folio_copy_method *folio_copy_chosen = folio_copy_methods;

/**
 * folio_copy_method_at - enumerate the methods
 * @i: index, from 0
 *
 * Return: the method, or NULL after the last.
 */
const struct folio_copy_method *folio_copy_method_at(unsigned int i)
{
	return i < ARRAY_SIZE(folio_copy_methods) ? &folio_copy_methods[i] : NULL;
}

/**
 * folio_copy_set_method - choose how later calls copy more than one page
 * @name: a method, "auto" to let the kernel choose, "base" for the loop over pages
 *
 * A call that is running finishes with the method that it began with.
 *
 * Return: 0, or -EINVAL for an unknown name.
 */
int folio_copy_set_method(const char *name)
{
	const struct folio_copy_method *method = NULL;
	unsigned int i;

	if (sysfs_streq(name, folio_copy_base.name))
		method = &folio_copy_base;

	for (i = 0; !method && i < ARRAY_SIZE(folio_copy_methods); i++) {
		if (sysfs_streq(name, folio_copy_methods[i].name))
			method = &folio_copy_methods[i];
	}

	if (!method)
		return -EINVAL;
	WRITE_ONCE(folio_copy_chosen, method);
	return 0;
}

/**
 * folio_copy_method - get the name of the chosen method
 *
 * Return: a name that is never freed.
 */
const char *folio_copy_method(void)
{
	return READ_ONCE(folio_copy_chosen)->name;
}

DEFINE_METHOD_PARAM(folio_copy);
MODULE_PARM_DESC(method, "How large folios are copied: auto, base, memcpy, bulk or stream");

/*
 * Streaming takes from half to three times the time of a plain copy. That depends on the
 * CPU, and even more on whether the destination is in the cache, which no function tells.
 * So one part of FOLIO_COPY_PARTS is copied plainly, a quarter of that is streamed, and
 * the rest is copied in the faster way. An interrupt in one of these parts may mislead
 * this folio, and no other.
 */
#define FOLIO_COPY_PARTS	64
#define FOLIO_COPY_QUARTER	4

/* A part of fewer pages is too short to tell, so the folio is copied plainly. */
#define FOLIO_COPY_TIMED	8

/* Nothing of a folio of this many pages stays in the cache until its copy is read. */
#define FOLIO_COPY_LONG		(SZ_256M >> PAGE_SHIFT)

/**
 * folio_copy_streams - choose how to copy the rest of a folio
 * @nr: number of its pages
 * @plain: time that a plain copy of some of them took
 * @stream: time that it took to stream as many
 *
 * The cache defers the cost of plain stores, and whoever reads a streamed copy gets it
 * from memory. So if the copy could stay in the cache, streaming must take less than
 * three quarters of the time.
 *
 * Return: whether to stream it.
 */
bool folio_copy_streams(unsigned long nr, u64 plain, u64 stream)
{
	if (nr < FOLIO_COPY_LONG)
		plain -= plain / 4;

	return stream < plain;
}

static unsigned long folio_copy_by(const struct folio_copy_method *method, bool mc,
				   void *to, const void *from, unsigned long npages)
{
	if (mc)
		return method->copy_mc(to, from, npages);
	method->copy(to, from, npages);

	return 0;
}

static unsigned long folio_copy_try(bool mc, void *to, const void *from,
				    unsigned long npages)
{
	unsigned long part = npages / FOLIO_COPY_PARTS;
	const struct folio_copy_method *rest = FOLIO_COPY_BULK;
	unsigned long left, done;
	u64 start, plain, stream;

	if (part < FOLIO_COPY_TIMED)
		return folio_copy_by(rest, mc, to, from, npages);

	start = local_clock();
	left = folio_copy_by(FOLIO_COPY_BULK, mc, to, from, part);
	plain = local_clock() - start;
	done = part << PAGE_SHIFT;

	if (!left) {
		part /= FOLIO_COPY_QUARTER;
		start = local_clock();
		left = folio_copy_by(FOLIO_COPY_STREAM, mc, to + done, from + done, part);
		stream = (local_clock() - start) * FOLIO_COPY_QUARTER;
		done += part << PAGE_SHIFT;
		if (folio_copy_streams(npages, plain, stream))
			rest = FOLIO_COPY_STREAM;
	}

	npages -= done >> PAGE_SHIFT;
	if (!left)
		return folio_copy_by(rest, mc, to + done, from + done, npages);

	return left + (npages << PAGE_SHIFT);
}

static void folio_copy_auto(void *to, const void *from, unsigned long npages)
{
	folio_copy_try(false, to, from, npages);
}

static unsigned long folio_copy_mc_auto(void *to, const void *from,
					unsigned long npages)
{
	return folio_copy_try(true, to, from, npages);
}

static const struct folio_copy_method *folio_copy_choose(unsigned long nr)
{
	if (FOLIO_COPY_BY_PAGE || nr == 1)
		return &folio_copy_base;

	return READ_ONCE(folio_copy_chosen);
}

static unsigned long folio_copy_unit(void)
{
	return preempt_model_preemptible() ? COPY_PAGES_MOST : FOLIO_COPY_UNIT;
}

/* Pages that are adjacent in memory may not be adjacent in the memmap. */
static struct page *folio_copy_page(struct page *page, unsigned long i)
{
	return pfn_to_page(page_to_pfn(page) + i);
}

/**
 * copy_highpages - copy physically contiguous pages
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * - The result is that of copy_highpage() on each page, including whatever else an
 *   architecture keeps for a page.
 * - The writes to the destination are ordered like plain stores.
 *
 * Context: any for one page; may reschedule between pages.
 */
void copy_highpages(struct page *to, struct page *from, unsigned long nr)
{
	const struct folio_copy_method *method = folio_copy_choose(nr);
	unsigned long unit = method->copy ? folio_copy_unit() : 1;
	unsigned long done = 0, n;

	/* The loop takes 2 % of the time of a page. */
	if (nr == 1) {
		copy_highpage(to, from);
		return;
	}
	for (;;) {
		n = min(nr - done, unit);
		if (method->copy)
			method->copy(page_address(to) + (done << PAGE_SHIFT),
				     page_address(from) + (done << PAGE_SHIFT), n);
		else
			copy_highpage(folio_copy_page(to, done),
				      folio_copy_page(from, done));
		done += n;
		if (done == nr)
			break;
		cond_resched();
	}
}

/**
 * folio_copy_mc_range - copy pages up to the first poisoned one
 * @method: a method that has @copy_mc
 * @to: address to copy to
 * @from: address to copy from
 * @nr: number of pages, at least 1
 * @unit: pages between two calls of cond_resched(), at most COPY_PAGES_MOST
 *
 * The address at which a copy stops is only a hint. The pages from there on are
 * copied again one by one, and the one that fails is poisoned. If none fails, the
 * poison is gone.
 *
 * Return: the number of good pages. If it is less than @nr, the next page is
 * poisoned.
 */
unsigned long folio_copy_mc_range(const struct folio_copy_method *method,
				  void *to, const void *from, unsigned long nr,
				  unsigned long unit)
{
	unsigned long done = 0, suspects = 0, n, left;

	for (;;) {
		n = suspects ? 1 : min(nr - done, unit);
		left = method->copy_mc(to + (done << PAGE_SHIFT),
				       from + (done << PAGE_SHIFT), n);
		if (left && suspects)
			return done;
		if (left)
			suspects = FOLIO_COPY_SUSPECTS;
		else if (suspects)
			suspects--;

		done += n - DIV_ROUND_UP(left, PAGE_SIZE);
		if (done == nr)
			return nr;
		if (!suspects)
			cond_resched();
	}
}

/**
 * copy_mc_highpages - copy_highpages() that survives machine checks
 * @to: first page to copy to
 * @from: first page to copy from
 * @nr: number of pages, at least 1
 *
 * - The first page whose source is poisoned is passed to memory_failure_queue(), and
 *   no other page.
 * - It is not an error if poison is gone when its page is copied again.
 *
 * Context: any for one page; may reschedule between pages.
 * Return: 0, or -EHWPOISON with the contents of the destination undefined.
 */
int copy_mc_highpages(struct page *to, struct page *from, unsigned long nr)
{
	const struct folio_copy_method *method = folio_copy_choose(nr);
	unsigned long done;

	if (method->copy_mc) {
		done = folio_copy_mc_range(method, page_address(to),
					   page_address(from), nr,
					   folio_copy_unit());
		if (done == nr)
			return 0;
		memory_failure_queue(page_to_pfn(from) + done, 0);
		return -EHWPOISON;
	}

	for (done = 0;;) {
		if (copy_mc_highpage(folio_copy_page(to, done),
				     folio_copy_page(from, done)))
			return -EHWPOISON;
		if (++done == nr)
			return 0;
		cond_resched();
	}
}
