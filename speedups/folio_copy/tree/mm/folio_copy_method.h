/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_METHOD_H
#define _MM_FOLIO_COPY_METHOD_H

#include <linux/types.h>

/*
 * Copies pages of the direct map, at most 1 GiB, with writes that are ordered like plain
 * stores. Returns 0, or anything else after a machine check.
 */
typedef unsigned long (folio_copy_fn)(void *to, const void *from, unsigned long npages);

folio_copy_fn folio_copy_bulk;

/**
 * struct folio_copy_method - one way to copy contiguous pages
 * @name: value of the parameter folio_copy.method
 * @copy: copies the pages, or NULL to copy them one by one
 */
struct folio_copy_method {
	const char *name;
	folio_copy_fn *copy;
};

const struct folio_copy_method *folio_copy_method_at(unsigned int i);
folio_copy_fn *folio_copy_chosen(void);
int folio_copy_set_method(const char *name);
const char *folio_copy_method(void);

#endif /* _MM_FOLIO_COPY_METHOD_H */
