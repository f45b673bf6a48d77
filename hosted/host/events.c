// SPDX-License-Identifier: GPL-2.0-only
/* Print events as JSON lines, which src/mmbatch/hosted/events.py reads. */
#include <stdarg.h>
#include <stdio.h>

#include "host.h"

FROM_KERNEL int hosted_format(char *text, unsigned long size, const char *format, ...)
{
	va_list list;
	int len;

	va_start(list, format);
	len = vsnprintf(text, size, format, list);
	va_end(list);
	return len;
}

static void print_flags(void)
{
	static const char *const names[] = {
		"rep_good", "erms", "fsrm", "movdir64b", "clzero",
	};

	for (unsigned int i = 0; i < sizeof(names) / sizeof(*names); i++)
		printf("%s\"%s\":%s", i ? "," : "", names[i],
		       hosted_cpu_has(names[i]) > 0 ? "true" : "false");
}

void event_engine(const struct cache *cache)
{
	printf("{\"event\":\"engine\",\"speedup\":\"%s\",\"sides\":[\"base\",\"control\",\"patched\"],"
	       "\"page_bytes\":%d,\"llc_bytes\":%lu,\"cached_bytes\":%lu,\"cpu_flags\":{",
	       hosted_bench.speedup, hosted_sizeof_page(), cache->reported, cache->kept);
	print_flags();
	printf("}}\n");
	fflush(stdout);
}

void event_case(const struct workload *w, const struct row *rows, unsigned int nr)
{
	char times[32] = "";

	memmap_in_case(w);
	if (w->rounds > 1)
		snprintf(times, sizeof(times), ", %u times", w->rounds);
	printf("{\"event\":\"case\",\"case\":\"%s\",\"regime\":\"%s%s\",\"unit\":\"ns\",\"item\":\"%s\","
	       "\"items\":%lu,\"bytes\":%lu,\"memory\":%lu,\"fixed\":%s,\"extra\":%s,\"variants\":[",
	       w->name, w->c->regime, times, hosted_bench.item, w->items * w->rounds, w->bytes, w->memory,
	       w->c->flags & HOSTED_FIXED ? "true" : "false",
	       w->c->flags & HOSTED_EXTRA_CASE ? "true" : "false");
	for (unsigned int i = 0; i < nr; i++)
		printf("%s\"%s\"", i ? "," : "", rows[i].name);
	printf("],\"reads\":[");
	for (unsigned int i = 0, nr_reads = 0; i < nr; i++) {
		if (rows[i].limit && rows[i].limit->reads)
			printf("%s\"%s\"", nr_reads++ ? "," : "", rows[i].name);
	}
	printf("],\"posted\":[");
	for (unsigned int i = 0, nr_posted = 0; i < nr; i++) {
		if (posted_is(&rows[i]))
			printf("%s\"%s\"", nr_posted++ ? "," : "", rows[i].name);
	}
	printf("],\"pairs\":%u}\n", w->pairs);
	fflush(stdout);
}

void event_equal(const struct workload *w, const struct row *row, bool equal,
		 const char *detail)
{
	printf("{\"event\":\"equal\",\"case\":\"%s\",\"variant\":\"%s\",\"equal\":%s,\"bytes\":%lu,"
	       "\"detail\":\"%s\"}\n",
	       w->name, row->name, equal ? "true" : "false", w->bytes, detail);
	fflush(stdout);
}

void event_sample(const struct workload *w, const struct row *row,
		  unsigned int block, unsigned int half, unsigned int pos,
		  uint64_t ns)
{
	printf("{\"event\":\"sample\",\"case\":\"%s\",\"variant\":\"%s\",\"block\":%u,\"half\":%u,"
	       "\"pos\":%u,\"layout\":%u,\"ns\":%lu}\n",
	       w->name, row->name, block, half, pos, hosted_layout, (unsigned long)ns);
	fflush(stdout);
}

void event_note(const char *case_name, const char *text)
{
	printf("{\"event\":\"note\",\"case\":\"%s\",\"text\":\"%s\"}\n", case_name, text);
	fflush(stdout);
}

void event_check(const struct hosted_check *check, bool good)
{
	printf("{\"event\":\"check\",\"good\":%s,\"combinations\":%lu,\"runs\":%lu,\"bytes\":%lu,"
	       "\"stepped\":%lu,\"streamed\":%lu,\"text\":\"%s\"}\n",
	       good ? "true" : "false", check->combinations, check->runs,
	       check->bytes, check->stepped, check->streamed, check->text);
	fflush(stdout);
}

void event_done(void)
{
	printf("{\"event\":\"done\"}\n");
	fflush(stdout);
}
