/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_METHOD_H
#define _MM_FOLIO_COPY_METHOD_H

#include "folio_copy.h"

folio_copy_fn folio_copy_bulk, folio_copy_mc_bulk;

/**
 * struct folio_copy_method - one way to copy contiguous pages
 * @name: value of the parameter folio_copy.method
 * @copy: copies the pages and returns 0, or NULL to copy them one by one
 * @copy_mc: copies the pages and survives a machine check, likewise
 *
 * When @copy and @copy_mc return, their writes are ordered like plain stores.
 */
struct folio_copy_method {
	const char *name;
	folio_copy_fn *copy;
	folio_copy_fn *copy_mc;
};

const struct folio_copy_method *folio_copy_method_at(unsigned int i);
folio_copy_fn *folio_copy_chosen(unsigned long nr, bool mc);
int folio_copy_set_method(const char *name);
const char *folio_copy_method(void);

#endif /* _MM_FOLIO_COPY_METHOD_H */
