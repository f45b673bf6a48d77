/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_COMPAT_H
#define _MM_ZONE_DEVICE_COMPAT_H

/*
 * This kernel prepares the head after it has written the first tail. It writes the
 * second tail after that, so only the first tail holds state of the folio.
 */
#define ZONE_DEVICE_META_TAILS	1UL

static inline void zone_device_prep_tail(struct page *head, unsigned long i,
					 unsigned int order)
{
	prep_compound_tail(head, i);
}

static inline void zone_device_link_tail(struct page *tail, struct page *head,
					 unsigned int order)
{
	set_compound_head(tail, head);
}

#endif /* _MM_ZONE_DEVICE_COMPAT_H */
