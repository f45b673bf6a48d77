/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LINUX_FOLIO_COPY_H
#define _LINUX_FOLIO_COPY_H

struct page;

void copy_highpages(struct page *to, struct page *from, unsigned long nr);
int __must_check copy_mc_highpages(struct page *to, struct page *from,
				   unsigned long nr);

#endif /* _LINUX_FOLIO_COPY_H */
