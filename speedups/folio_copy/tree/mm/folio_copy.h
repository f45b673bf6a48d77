/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_H
#define _MM_FOLIO_COPY_H

#include <linux/compiler.h>
#include <linux/types.h>

struct page;

/* For mm/util.c. */
void copy_highpages(struct page *to, struct page *from, unsigned long nr);
int __must_check copy_mc_highpages(struct page *to, struct page *from,
				   unsigned long nr);

/**
 * struct folio_copy_method - one way to copy contiguous pages
 * @name: value of the parameter folio_copy.method
 * @copy: copies the pages, or NULL to use the loop over pages
 * @copy_mc: copies the pages and survives a machine check in the source; returns the
 *	number of bytes that are left, which may be larger than necessary
 *
 * When @copy and @copy_mc return, their writes are ordered like plain stores.
 */
struct folio_copy_method {
	const char *name;
	void (*copy)(void *to, const void *from, unsigned long npages);
	unsigned long (*copy_mc)(void *to, const void *from,
				 unsigned long npages);
};

const struct folio_copy_method *folio_copy_method_at(unsigned int i);
int folio_copy_set_method(const char *name);
const char *folio_copy_method(void);

bool folio_copy_streams(unsigned long nr, u64 plain, u64 stream);
unsigned long folio_copy_mc_range(const struct folio_copy_method *method,
				  void *to, const void *from, unsigned long nr,
				  unsigned long unit);

#endif /* _MM_FOLIO_COPY_H */
