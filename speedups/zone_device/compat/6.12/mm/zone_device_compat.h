/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_COMPAT_H
#define _MM_ZONE_DEVICE_COMPAT_H

/*
 * The head is prepared once the first tail is written, and the second tail is
 * written after it, which leaves a plain tail there.
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
