/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_COMPAT_H
#define _MM_ZONE_DEVICE_COMPAT_H

/* Preparing the head stores state of the folio in the first two tails. */
#define ZONE_DEVICE_META_TAILS	2UL

static inline void zone_device_prep_tail(struct page *head, unsigned long i,
					 unsigned int order)
{
	prep_compound_tail(head + i, head, order);
}

static inline void zone_device_link_tail(struct page *tail, struct page *head,
					 unsigned int order)
{
	set_compound_head(tail, head, order);
}

#endif /* _MM_ZONE_DEVICE_COMPAT_H */
