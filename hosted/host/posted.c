// SPDX-License-Identifier: GPL-2.0-only
/*
 * Rows of posted code. They are compared with base
 * and timed as all variants are. One that differs is left out, and does not keep the
 * others from being timed.
 */
#include <stdio.h>

#include "host.h"

bool posted_is(const struct row *row)
{
	return row->variant && row->variant->side >= HOSTED_POSTED;
}

unsigned int posted_rows(struct row *rows)
{
	static const char *const labels[] = { HOSTED_POSTED_LABELS };
	static struct hosted_variant variants[HOSTED_NR_POSTED];
	unsigned int i;

	for (i = 0; i != HOSTED_NR_POSTED; i++) {
		variants[i].name = labels[i];
		variants[i].side = HOSTED_POSTED + i;
		rows[i] = (struct row){ .variant = &variants[i] };
		snprintf(rows[i].name, sizeof(rows[i].name), "%s", labels[i]);
	}
	return i;
}

bool posted_differs(const struct row *rows, unsigned int nr)
{
	for (unsigned int i = 0; i < nr; i++) {
		if (rows[i].unequal)
			return true;
	}
	return false;
}

unsigned int posted_drop_unequal(struct row *rows, unsigned int nr)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (!rows[i].unequal)
			rows[kept++] = rows[i];
	}
	return kept;
}
