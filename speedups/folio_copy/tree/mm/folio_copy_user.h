/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_FOLIO_COPY_USER_H
#define _MM_FOLIO_COPY_USER_H

#include "folio_copy.h"

struct folio;

/* For mm/memory.c. */
int __must_check folio_copy_user(struct folio *dst, struct folio *src,
				 unsigned long addr);

#endif /* _MM_FOLIO_COPY_USER_H */
