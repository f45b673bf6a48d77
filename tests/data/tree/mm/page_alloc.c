// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>
#include "internal.h"

#define FPI_NONE		((__force fpi_t)0)
#define FPI_TO_TAIL		((__force fpi_t)BIT(1))

static __always_inline bool __free_pages_prepare(struct page *page,
						 unsigned int order, fpi_t fpi_flags)
{
	if (unlikely(order)) {
		toy_paint(page, order);
	}
	return toy_depth(order);
}

void __meminit __free_pages_core(struct page *page, unsigned int order,
				 enum meminit_context context)
{
	unsigned int nr_pages = 1 << order;
	struct page *p = page;
	unsigned int loop;

	if (context == MEMINIT_HOTPLUG) {
		for (loop = 0; loop < nr_pages; loop++, p++) {
			__ClearPageOffline(p);
			toy_glue(p);
		}
	}
	__free_pages_ok(page, order, FPI_TO_TAIL);
}
