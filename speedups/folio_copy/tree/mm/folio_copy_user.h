/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_USER_H
#define _MM_FOLIO_COPY_USER_H

#include <linux/types.h>

struct folio;

/* For mm/memory.c. */
bool folio_copies_ranges(void);
int __must_check folio_copy_user(struct folio *dst, struct folio *src,
				 unsigned long addr);

#endif /* _MM_FOLIO_COPY_USER_H */
