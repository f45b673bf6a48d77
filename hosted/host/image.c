// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the image that each variant produces with that of base. All images
 * are made at the same address, because struct pages hold pointers to each
 * other. So only a hash of each chunk is kept of base's image. If a hash differs,
 * both images are made again, and the chunk is compared byte by byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host.h"

#define CHUNK	(2UL << 20)
#define LANES	4

/* Every step is a bijection, so that a single changed word always changes the hash. */
static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ULL;
	return hash ^ (hash >> 29);
}

static uint64_t chunk_hash(const void *chunk, unsigned long bytes)
{
	uint64_t lane[LANES] = { 1, 2, 3, 4 };
	const uint64_t *word = chunk;
	unsigned long n = bytes / sizeof(*word), i = 0;

	for (; i + LANES <= n; i += LANES) {
		for (unsigned int j = 0; j < LANES; j++)
			lane[j] = mix(lane[j], word[i + j]);
	}
	for (; i < n; i++)
		lane[0] = mix(lane[0], word[i]);
	for (unsigned int j = 1; j < LANES; j++)
		lane[0] = mix(lane[0], lane[j]);

	return lane[0];
}

static uint64_t effects_hash(const struct workload *w)
{
	return chunk_hash(w->effects, w->bytes / EFFECTS_SHARE);
}

static unsigned long chunk_bytes(const struct workload *w, unsigned long i)
{
	unsigned long left = w->bytes - i * CHUNK;

	return left < CHUNK ? left : CHUNK;
}

void image_poison(const struct workload *w)
{
	memset(w->image, 0x5a, w->bytes);
	memset(w->effects, 0, w->bytes / EFFECTS_SHARE);
}

/* Leave every line of the image modified in the cache, as ordinary stores do. */
void image_warm(const struct workload *w)
{
	for (unsigned int pass = 0; pass < 2; pass++)
		cache_rewrite(w->image, w->bytes);
}

/* Each row uses another layout, because all layouts are timed later. */
static void render(const struct workload *w, const struct row *row, unsigned int nr)
{
	hosted_layout = nr % HOSTED_LAYOUTS;
	image_poison(w);
	row_select(row);
	row_prepare(w, row);
	row_run(w, row);
	if (hosted_bench.collect)
		hosted_bench.collect(w->c, w->items);
}

/* Describe the first difference between base and variant inside a chunk. */
static void describe(const struct workload *w, const struct row *base,
		     const struct row *row, unsigned int nr, unsigned long i,
		     char *text, size_t size)
{
	const char *image = (char *)w->image + i * CHUNK;
	unsigned long bytes = chunk_bytes(w, i), at = 0, item;
	char *kept = malloc(bytes);
	uint64_t want, got;

	if (!kept)
		hosted_die("no memory to compare images with");
	render(w, base, 0);
	memcpy(kept, image, bytes);
	render(w, row, nr);

	while (at < bytes && kept[at] == image[at])
		at++;
	if (at == bytes) {
		snprintf(text, size, "chunk %lu differed once, and not again", i);
	} else {
		item = (i * CHUNK + at) / hosted_bench.item_bytes;
		memcpy(&want, kept + (at & -8UL), sizeof(want));
		memcpy(&got, image + (at & -8UL), sizeof(got));
		snprintf(text, size,
			 "%s %lu, byte %lu: base has word %#lx, %s has %#lx",
			 hosted_bench.item, item,
			 (i * CHUNK + at) % hosted_bench.item_bytes,
			 (unsigned long)want, row->name, (unsigned long)got);
	}
	free(kept);
}

/* Returns false if a row of ours differs. A posted row that differs is marked. */
bool image_check(const struct workload *w, struct row *rows, unsigned int nr)
{
	unsigned long chunks = (w->bytes + CHUNK - 1) / CHUNK, i;
	uint64_t *expected = calloc(chunks, sizeof(*expected)), effects;
	bool all = true;
	char text[256];

	if (!expected)
		hosted_die("no memory for the hashes of the image");
	render(w, &rows[0], 0);
	for (i = 0; i < chunks; i++)
		expected[i] = chunk_hash((char *)w->image + i * CHUNK, chunk_bytes(w, i));
	effects = effects_hash(w);
	event_equal(w, &rows[0], true, "");

	for (unsigned int r = 1; r < nr; r++) {
		if (rows[r].limit)
			continue;
		render(w, &rows[r], r);
		text[0] = '\0';
		for (i = 0; i < chunks && !text[0]; i++) {
			if (chunk_hash((char *)w->image + i * CHUNK, chunk_bytes(w, i)) !=
			    expected[i])
				describe(w, &rows[0], &rows[r], r, i, text, sizeof(text));
		}
		if (!text[0] && effects_hash(w) != effects)
			snprintf(text, sizeof(text),
				 "same image, but different calls into the rest of the kernel");
		event_equal(w, &rows[r], !text[0], text);
		if (posted_is(&rows[r]))
			rows[r].unequal = text[0];
		else
			all = all && !text[0];
	}

	free(expected);
	return all;
}
