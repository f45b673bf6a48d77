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

/* A fill of several CPUs: each writes a part of the image. */
struct parts {
	const struct workload *w;
	const struct row *row;
};

static void run_part(unsigned int cpu, void *data)
{
	const struct parts *parts = data;
	unsigned int nr = parts->w->c->cpus;
	unsigned long share = parts->w->bytes / nr & -4096UL;
	unsigned long bytes = cpu + 1 < nr ? share : parts->w->bytes - cpu * share;

	parts->row->limit->run((char *)parts->w->image + cpu * share, bytes);
}

void row_run(const struct workload *w, const struct row *row)
{
	struct parts parts = { w, row };

	if (row->limit && w->c->cpus > 1 && !row->one_cpu &&
	    !(w->c->flags & HOSTED_NO_FILLS)) {
		hosted_on_cpus(w->c->cpus, run_part, &parts);
		return;
	}
	if (row->limit) {
		row->limit->run(w->image, w->bytes);
		return;
	}

	hosted_enter();
	hosted_bench.run(w->c, row->variant->side, w->items);
	hosted_exit();
}
