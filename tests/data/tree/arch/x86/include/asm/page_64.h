/* SPDX-License-Identifier: GPL-2.0-only */
/* Made up for tests: the hooks find their places, the code means nothing. */
#ifndef TOY_PAGE_64_H
#define TOY_PAGE_64_H

void copy_page(void *toy, void *box);

#endif
