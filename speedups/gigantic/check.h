/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include "boot.h"
#include "hosted.h"

/* So many struct pages HVO never shares. They are written first. */
#define GIGANTIC_KEPT	(PAGE_SIZE / sizeof(struct page))

/* Starts compounds of any order. */
#define FIRST_PFN	0x1000000UL

int gigantic_check(struct hosted_check *check);

#endif /* CHECK_H */
