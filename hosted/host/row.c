// SPDX-License-Identifier: GPL-2.0-only
/* One row of a case's table, run once: a variant of the work, or a limit. */
#include "host.h"

unsigned int hosted_layout;

static const struct row *running;

/* The row whose code runs, for messages; NULL before the first. */
const char *row_running(void)
{
	return running ? running->name : NULL;
}

void row_select(const struct row *row)
{
	const char *setting = row->limit ? NULL : row->variant->setting;

	if (setting && hosted_bench.select(setting) < 0)
		hosted_die("a setting was refused that had been accepted before");
}

void row_prepare(const struct workload *w, const struct row *row)
{
	running = row;
	if (hosted_bench.prepare && !row->limit)
		hosted_bench.prepare(w->c, row->variant->side, w->items);
}

void row_run(const struct workload *w, const struct row *row)
{
	if (row->limit) {
		row->limit->run(w->image, w->bytes);
		return;
	}

	hosted_enter();
	hosted_bench.run(w->c, row->variant->side, w->items);
	hosted_exit();
}
