/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef BOOT_H
#define BOOT_H

/* The head, as memblock's reserved memory leaves it. */
void gigantic_reserve(unsigned long pfn, unsigned long zone, int nid);
/* The head, and the tails before @end. */
void gigantic_begin(unsigned long pfn, unsigned int order, unsigned long end);
/* The tails that are left if they are not shared. */
void gigantic_end(unsigned long pfn, unsigned int order, unsigned long start, unsigned long end);

#endif /* BOOT_H */
