// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

#include "internal.h"

bool page_is_unmovable(struct toy *toy, struct page *page, unsigned long *step)
{
	toy_paint(toy, page);
	if (!page_ref_count(page)) {
		if (toy_is_red(page))
			*step = (1 << buddy_order(page));
		return false;
	}
	return true;
}

static struct page *has_unmovable_pages(unsigned long start_pfn, unsigned long end_pfn,
					enum pb_isolate_mode mode)
{
	return toy_find(start_pfn, end_pfn, mode);
}
