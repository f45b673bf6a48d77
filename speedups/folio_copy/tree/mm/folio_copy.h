/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_H
#define _MM_FOLIO_COPY_H

#include <linux/types.h>
#include <asm/page.h>

struct page;

/*
 * Copies pages of the direct map, at most 1 GiB. Returns 0, or after a machine check the
 * number of bytes that are left. That may be some cache lines too many, but not too few.
 */
typedef unsigned long (folio_copy_fn)(void *to, const void *from, unsigned long npages);

/*
 * Whether pages may be copied together. An architecture with copy_pages() says when it is
 * better than copy_highpage() of each page. With KMSAN, each page has a shadow, which must
 * be copied too.
 */
static inline bool folio_copies_ranges(void)
{
#ifdef can_copy_pages
	return !IS_ENABLED(CONFIG_KMSAN) && can_copy_pages();
#else
	return false;
#endif
}

unsigned long folio_copy_range(folio_copy_fn *copy, void *to, const void *from,
			       unsigned long nr, unsigned long unit);

/* For mm/util.c. */
void copy_highpages(struct page *to, struct page *from, unsigned long nr);
int __must_check copy_mc_highpages(struct page *to, struct page *from,
				   unsigned long nr);

#endif /* _MM_FOLIO_COPY_H */
