// SPDX-License-Identifier: GPL-2.0-only
/*
 * Time the rows of a case against each other. A block runs all rows once in a
 * random order and once more in the reverse order, which is A B B A for every
 * pair: a steady drift over the block cancels out. Each block uses the next
 * layout of the code, so that no row is fast only because of where it was linked.
 */
#define _GNU_SOURCE
#include <stdio.h>

#include "host.h"

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ULL);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void shuffle(unsigned int *order, unsigned int nr, uint64_t *state)
{
	for (unsigned int i = nr - 1; i > 0; i--) {
		unsigned int j = next_random(state) % (i + 1), kept = order[i];

		order[i] = order[j];
		order[j] = kept;
	}
}

static unsigned long read_back(const struct workload *w)
{
	const char *item = w->image;
	unsigned long sum = 0;

	for (unsigned long i = 0; i < w->items; i++, item += hosted_bench.item_bytes)
		sum += hosted_bench.touch(item);
	return sum;
}

static void prepare_row(const struct workload *w, const struct row *row)
{
	row_select(row);
	row_prepare(w, row);
	if (w->c->flags & HOSTED_HOT)
		image_warm(w);
	if (hosted_bench.arrange)
		hosted_bench.arrange(w->c, w->items);
	if (w->c->flags & HOSTED_FLUSHED)
		hosted_flush(w->image, w->bytes);
	if (w->c->flags & HOSTED_FRESH)
		arena_renew(w->image, w->bytes);
}

/*
 * Report a case whose image is not in the cache although it should be, or the reverse,
 * when a row of it starts. A hot case must be hot in most tries, since its samples are timed
 * in the same way. Noise only adds to a time, so a cold case must be cold in each of three.
 * What is larger than the cache is looked at once.
 */
void note_regime(const struct cache *cache, const struct workload *w,
		 const struct row *base)
{
	const bool wanted = w->c->flags & HOSTED_HOT;
	unsigned int tries = w->bytes >= cache->reported ? 1 : wanted ? 9 : 3;
	unsigned int hits = 0;

	if (!hosted_bench.fills || w->c->flags & (HOSTED_FRESH | HOSTED_NO_FILLS) ||
	    !cache_tells(cache))
		return;
	for (unsigned int i = 0; i < tries; i++) {
		prepare_row(w, base);
		hits += cache_is_hot(cache, cache_rewrite(w->image, w->bytes));
	}
	if (wanted && hits <= tries / 2)
		event_note(w->name, "not hot here: its lines come from memory");
	if (!wanted && hits)
		event_note(w->name, "not cold here: its lines come from the cache");
}

static uint64_t time_row(const struct workload *w, const struct row *row)
{
	uint64_t start, ns = 0;
	unsigned long sum = 0;

	for (unsigned int i = 0; i < w->rounds; i++) {
		prepare_row(w, row);
		start = hosted_now_ns();
		row_run(w, row);
		if (w->c->flags & HOSTED_READBACK && !(row->limit && row->limit->reads))
			sum = read_back(w);
		/* Keep the compiler from dropping the reads. */
		asm volatile("" : : "r"(sum));
		ns += hosted_now_ns() - start;
	}
	return ns;
}

/*
 * Choose the number of blocks before any is timed, from the time of one warm-up
 * round. A slow machine gets fewer blocks, and at least two.
 */
static unsigned int settle_blocks(const struct plan *plan, const struct workload *w,
				  uint64_t round_ns)
{
	unsigned int blocks = (w->pairs + 1) / 2;
	uint64_t affordable;

	if (!plan->budget_ns)
		return blocks;

	affordable = plan->budget_ns / (2 * round_ns);
	if (affordable < 2)
		affordable = 2;
	return blocks < affordable ? blocks : affordable;
}

/* Whether fewer than two fills on as many CPUs as that of row @at are faster than it. */
static bool is_fast_fill(const struct row *rows, const uint64_t *ns, unsigned int nr,
			 unsigned int at)
{
	unsigned int faster = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (rows[i].fill && rows[i].one_cpu == rows[at].one_cpu)
			faster += ns[i] < ns[at] || (ns[i] == ns[at] && i < at);
	}
	return faster < 2;
}

/*
 * Many fills are slow on this CPU or in this case, and need not be timed again. List
 * the two fastest and all other rows, by their times @ns, and return the number of
 * rows that go on. The order of the rows is random anyway.
 */
static unsigned int keep_fastest_fills(const struct row *rows, const uint64_t *ns,
				       unsigned int *order, unsigned int nr)
{
	unsigned int kept = 0;

	for (unsigned int i = 0; i < nr; i++) {
		if (!rows[i].fill || is_fast_fill(rows, ns, nr, i))
			order[kept++] = i;
	}
	return kept;
}

/* The first block times all fills, and the others only the two that were fastest in it. */
void measure(const struct plan *plan, const struct workload *w,
	     const struct row *rows, unsigned int nr, uint64_t seed)
{
	unsigned int order[nr], kept, blocks, layout = seed % HOSTED_LAYOUTS;
	uint64_t ns[nr], round_ns = 0;

	for (unsigned int i = 0; i < nr; i++) {
		uint64_t start = hosted_now_ns();

		time_row(w, &rows[i]);
		ns[i] = hosted_now_ns() - start;
	}
	kept = keep_fastest_fills(rows, ns, order, nr);
	for (unsigned int i = 0; i < kept; i++)
		round_ns += ns[order[i]];
	blocks = settle_blocks(plan, w, round_ns);

	for (unsigned int i = 0; i < nr; i++) {
		order[i] = i;
		ns[i] = UINT64_MAX;
	}
	for (unsigned int block = 0; block < blocks; block++) {
		/* A run of few blocks does not reach all layouts; the next seed starts one on. */
		hosted_layout = (layout + block) % HOSTED_LAYOUTS;
		shuffle(order, nr, &seed);
		for (unsigned int pos = 0; pos < 2 * nr; pos++) {
			unsigned int half = pos / nr;
			unsigned int at = order[half ? 2 * nr - 1 - pos : pos];
			uint64_t sample = time_row(w, &rows[at]);

			event_sample(w, &rows[at], block, half, pos, sample);
			if (sample < ns[at])
				ns[at] = sample;
		}
		if (!block)
			nr = keep_fastest_fills(rows, ns, order, nr);
	}
}
