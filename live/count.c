// SPDX-License-Identifier: GPL-2.0-only
/* The parameter "counts": what became of the calls of each function that is replaced. */

#include <linux/cpumask.h>
#include <linux/moduleparam.h>
#include <linux/percpu.h>
#include <linux/sysfs.h>

#include "live.h"

DEFINE_PER_CPU(struct live_counter [LIVE_MAX_COUNTS], live_counters);

/* A line for each count: function, outcome, calls, pages, ns of calls that were timed, reason. */
static int live_counts_get(char *buffer, const struct kernel_param *kp)
{
	const struct live_counter *each;
	unsigned long calls, pages;
	unsigned int i;
	u64 ns;
	int cpu, at = 0;

	for (i = 0; i < live_nr_counts; i++) {
		calls = 0;
		pages = 0;
		ns = 0;
		for_each_possible_cpu(cpu) {
			each = &per_cpu(live_counters, cpu)[i];
			calls += READ_ONCE(each->calls);
			pages += READ_ONCE(each->pages);
			ns += READ_ONCE(each->ns);
		}
		at += sysfs_emit_at(buffer, at, "%s %s %lu %lu %llu %s\n",
				    live_counts[i].function, live_counts[i].outcome,
				    calls, pages, ns, live_counts[i].reason);
	}

	return at;
}

static const struct kernel_param_ops live_counts_ops = {
	.get = live_counts_get,
};

module_param_cb(counts, &live_counts_ops, NULL, 0444);
MODULE_PARM_DESC(counts, "What became of the calls of each function that is replaced");
