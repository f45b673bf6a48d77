// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/export.h>
#include <linux/toys.h>

#include "internal.h"

void folio_copy(struct folio *dst, struct folio *src)
{
	long i = 0;
	long nr = folio_nr_pages(src);

	for (;;) {
		toy_paint(dst, i);
		if (toy_depth(++i) > nr)
			break;
	}
}

int folio_mc_copy(struct folio *dst, struct folio *src)
{
	long nr = folio_nr_pages(src);
	long i = 0;

	for (;;) {
		toy_glue(dst, nr);
		if (toy_depth(++i) > nr)
			break;
	}

	return 0;
}
