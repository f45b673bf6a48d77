/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_INTERNAL_H
#define _MM_FOLIO_COPY_INTERNAL_H

#include <linux/types.h>

/**
 * struct folio_copy_method - one way to copy pages that are contiguous
 * @name: value of the parameter folio_copy.method
 * @copy: copy so many pages; NULL leaves all to the loop over pages
 * @copy_mc: the same, and survive a machine check in the source: returns the
 *	     number of bytes that are left, which may be too many
 *
 * What @copy and @copy_mc wrote is ordered like plain stores when they return.
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
void folio_copy_set_streaming(bool on);
void folio_copy_learn_llc(void);

unsigned long folio_copy_mc_range(const struct folio_copy_method *method,
				  void *to, const void *from, unsigned long nr,
				  unsigned long unit);

#endif /* _MM_FOLIO_COPY_INTERNAL_H */
