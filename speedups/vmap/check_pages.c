// SPDX-License-Identifier: GPL-2.0-only
/* What pages the arrays have, for posted code that reads their struct pages. */
#include <linux/align.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "hosted.h"
#include "report.h"
#include "arrays.h"

/*
 * A case is named like its array, whose blocks an allocator returned as compound pages.
 * vmalloc() splits its pages. A check has pages of all orders, and arrays with parts of them.
 */
unsigned int hosted_order(const struct hosted_case *c, unsigned long items, unsigned long pfn)
{
	unsigned long eights = items * 6 / 10, fours = items * 9 / 10 - eights;
	const char *order;

	if (!c)
		return pfn / 1024 % 11;
	if (strstr(c->name, "-swapped"))
		return 9;
	if (strstr(c->name, "-mixed")) {
		/* Each block is followed by a gap of its size (arrays.c). */
		eights = ARRAYS_PFN + ALIGN(2 * eights, 2 << 8);
		fours = eights + ALIGN(2 * fours, 2 << 4);
		return pfn < eights ? 8 : pfn < fours ? 4 : 0;
	}
	order = strstr(c->name, "-order");
	return order ? order[6] - '0' : 0;
}
