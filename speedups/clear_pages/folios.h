/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOLIOS_H
#define FOLIOS_H

#include "hosted.h"

/* Make [memory, memory + bytes) the direct map; its first page has the index 0. */
void folios_map(void *memory, unsigned long bytes);
void *folios_address(unsigned long i);

/* Make the pages from index @i on a folio of @order. */
void folios_make(unsigned long i, unsigned int order);

/* Clear the folio at index @i, of which a process touches the page @touched. */
void folios_zero(enum hosted_side side, unsigned long i, unsigned long touched);

int clear_pages_check(struct hosted_check *check);

#endif /* FOLIOS_H */
