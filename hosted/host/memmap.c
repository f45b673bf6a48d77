// SPDX-License-Identifier: GPL-2.0-only
/* Struct pages for posted code that reads them. They are made where they are read first. */
#define _GNU_SOURCE
#include <sys/mman.h>

#include "host.h"
#include "report.h"

#define HUGE	(2UL << 20)
#define PARTS	1024	/* a GiB of struct pages, of 64 GiB */

static const struct hosted_case *of_case;
static unsigned long of_items;

static char *parts[PARTS];
static unsigned int nr_parts;

/* The pages of another case are of other orders. */
void memmap_in_case(const struct workload *w)
{
	of_case = w->c;
	of_items = w->items;
	while (nr_parts)
		munmap(parts[--nr_parts], HUGE);
}

static bool back(char *start, unsigned long bytes)
{
	for (unsigned int i = 0; i < nr_parts; i++) {
		if (parts[i] == start)	/* by another CPU */
			return true;
	}
	if (nr_parts == PARTS ||
	    mmap(start, bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) != start)
		return false;
	madvise(start, bytes, MADV_HUGEPAGE);
	hosted_make_pages(start, bytes, of_case, of_items);
	if (of_case)
		parts[nr_parts++] = start;
	return !mprotect(start, bytes, PROT_READ);
}

/* A check reads few struct pages in many places, which stay as they are. */
bool memmap_back(const char *at)
{
	unsigned long bytes = of_case ? HUGE : HOSTED_PAGES_BYTES;
	static bool busy;
	bool good;

	while (__atomic_exchange_n(&busy, true, __ATOMIC_ACQUIRE))
		;
	good = back((char *)((unsigned long)at & -bytes), bytes);
	__atomic_store_n(&busy, false, __ATOMIC_RELEASE);
	return good;
}
