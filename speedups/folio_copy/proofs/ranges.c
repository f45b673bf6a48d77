// SPDX-License-Identifier: GPL-2.0-only
/*
 * A bounded proof of how mm/folio_copy.c divides a copy, and of the page that it reports.
 *
 * No byte is copied. The machine has poison in two places of the source or fewer, which can
 * go away each time that it is met, and registers that lag by less than a KiB. One page is
 * the witness for all of them.
 *
 * With USER, it is about a copy on write.
 */

#include <stdbool.h>
#include <stddef.h>

/* The kernel's words, as far as the source has them. */
#define PAGE_SHIFT		12
#define PAGE_SIZE		4096UL
#define SZ_1K			1024
#define SZ_4M			(2 * PAGE_SIZE)	/* a piece, without preemption */
#define SZ_1G			(3 * PAGE_SIZE)	/* and with it */
#define EHWPOISON		133
#define ULONG_MAX		(~0UL)
#define DIV_ROUND_UP(x, by)	(((x) + (by) - 1) / (by))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define offset_in_page(at)	((unsigned long)(at) & (PAGE_SIZE - 1))
#define ARRAY_SIZE(array)	(sizeof(array) / sizeof((array)[0]))
#define can_copy_pages()	true
#define might_sleep_if(is_long)	((void)(is_long))
#define __must_check

#define PAGES			4UL

typedef unsigned long (folio_copy_fn)(void *to, const void *from, unsigned long npages);

struct page { char none; };
struct folio { struct page pages[PAGES]; };

static struct folio source, target;
static char source_bytes[PAGES << PAGE_SHIFT], target_bytes[PAGES << PAGE_SHIFT];

#define is_source(page)		__CPROVER_same_object(page, &source)
#define index_of(page)		((page) - (is_source(page) ? source.pages : target.pages))
#define page_to_pfn(page)	((unsigned long)index_of(page) + (is_source(page) ? 0 : PAGES))
#define page_address(page) \
	((void *)(is_source(page) ? source_bytes : target_bytes) + \
	 (index_of(page) << PAGE_SHIFT))
#define folio_page(folio, nr)	(&(folio)->pages[nr])
#define folio_nr_pages(folio)	nr_pages
#define flush_dcache_folio(folio) ((void)0)

unsigned long nondet_ulong(void);
bool nondet_bool(void);

#define prove(what, why)	__CPROVER_assert(what, why)
#define assume(what)		__CPROVER_assume(what)

static unsigned long nr_pages, poison[2], checks[2], written_page = ULONG_MAX;
static unsigned long witness, copies, poisoned_page, reports;
static bool is_last, is_idle, is_preemptible;

/* Copy, and return the bytes that are left after a machine check. */
static unsigned long machine(void *to, const void *from, unsigned long npages)
{
	unsigned long first = __CPROVER_POINTER_OFFSET(from), stop;
	unsigned long end = first + (npages << PAGE_SHIFT), at = first >> PAGE_SHIFT;
	unsigned long done = npages, left = 0;
	unsigned int i;

	prove(npages && end <= nr_pages << PAGE_SHIFT, "what is copied is in the folio");
	prove(__CPROVER_same_object(from, source_bytes) && !offset_in_page(first) &&
	      __CPROVER_same_object(to, target_bytes) && __CPROVER_POINTER_OFFSET(to) == first,
	      "each page is copied to its own place");
	prove(!is_last, "nothing is copied once the poisoned page is known");
	prove(written_page < at || written_page >= at + npages ||
	      witness == written_page || copies, "the page that is written is copied last");
	is_idle = false;

	for (i = 0; i < 2 && !left; i++) {
		if (poison[i] < first || poison[i] >= end || nondet_bool())
			continue;
		stop = nondet_ulong();
		assume(stop >= first && stop <= poison[i] && poison[i] - stop < SZ_1K);
		prove(++checks[i] <= 2, "a poison takes two machine checks at most");
		poisoned_page = poison[i] >> PAGE_SHIFT;
		is_last = npages == 1 || offset_in_page(stop) < PAGE_SIZE - SZ_1K;
		done = (stop - first) >> PAGE_SHIFT;
		left = end - stop;
	}
	copies += witness >= at && witness < at + done;
	return left;
}

static void memory_failure_queue(unsigned long pfn, int flags)
{
	prove(is_last && pfn == poisoned_page, "the page that is reported is poisoned");
	prove(!reports++, "one page is reported");
}

static void cond_resched(void)
{
	prove(nr_pages > 1, "a single page is copied in atomic context");
	is_idle = true;
}

static unsigned long plainly(void *to, const void *from, unsigned long npages)
{
	prove(false, "copies survive machine checks here");
	return 0;
}

#define copy_pages(to, from, npages)	plainly(to, from, npages)
#define folio_copy_chosen(nr, mc)	((mc) ? machine : plainly)
#define preempt_model_preemptible() is_preemptible

#include "mm/folio_copy.c"

int main(void)
{
	unsigned long address = nondet_ulong();
	int error;

	nr_pages = nondet_ulong();
	poison[0] = nondet_ulong();
	poison[1] = nondet_ulong();
	witness = nondet_ulong();
	is_preemptible = nondet_bool();
	assume(poison[0] <= poison[1] && nr_pages <= PAGES && witness < nr_pages);
#ifdef USER
	assume(nr_pages >= 2 && !(nr_pages & (nr_pages - 1)));
	written_page = (address >> PAGE_SHIFT) % nr_pages;
	error = folio_copy_user(&target, &source, address);
#else
	error = copy_mc_highpages(target.pages, source.pages, nr_pages);
#endif
	prove(error == 0 || error == -EHWPOISON, "it ends well or with EHWPOISON");
	prove(error ? reports == 1 : !reports && copies == 1,
	      "each page is copied once, or one is reported");
	prove(!is_idle, "there is no chance to reschedule after the last page");
	return 0;
}
