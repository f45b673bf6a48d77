// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare copies of every size from 0 to COPIES_MAX at every alignment with a byte
 * loop, for base and patched code. Then follow copies instruction by instruction,
 * and verify which ones stream.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#include "hosted.h"
#include "check.h"
#include "copies.h"

HOSTED_ENTRY(copies_fixed);
HOSTED_ENTRY(copies_aligned);
HOSTED_ENTRY(copies_sized);
HOSTED_ENTRY(copies_pieces);
HOSTED_ENTRY(copies_flush_fixed);
HOSTED_ENTRY(copies_flush_sized);
HOSTED_ENTRY(copies_drain);

#define HALF		(128UL << 10)
#define DST_ALIGNMENTS	64UL
#define SRC_ALIGNMENTS	16UL
#define GUARD		64UL

enum copy_size { CONSTANT, AT_RUN_TIME, IN_PIECES };

static const struct copy_kind {
	copies_fn *const (*of)[HOSTED_SIDES];
	const char *name;
	unsigned long step;	/* of the destination's alignment */
	enum copy_size size;
	bool streaming;		/* memcpy_streaming(), not memcpy_flushcache() */
} kinds[] = {
	{ copies_fixed_of, "memcpy_streaming() of a constant", 1, CONSTANT, true },
	{ copies_aligned_of, "memcpy_streaming() of a constant to 8 bytes", 8, CONSTANT, true },
	{ copies_sized_of, "memcpy_streaming()", 1, AT_RUN_TIME, true },
	{ copies_pieces_of, "memcpy_streaming() in pieces", 1, IN_PIECES, true },
	{ copies_flush_fixed_of, "memcpy_flushcache() of a constant", 1, CONSTANT, false },
	{ copies_flush_sized_of, "memcpy_flushcache()", 1, AT_RUN_TIME, false },
};

/*
 * Each instruction, and each iteration of a rep, takes a signal, which is slow. So
 * there are only enough alignments to distinguish 1, 4 and 8, and sizes up to just
 * after the largest one that has its own code.
 */
static const unsigned long stepped_alignments[] = { 0, 4, 8, 63 };
#define STEPPED_MAX	100UL

/* One half of the arena holds the source, the other half the destination. */
struct copy_check {
	struct hosted_check *counts;
	const struct copy_kind *kind;
	enum hosted_side side;
	u8 *from, *to;
};

/* Bytes before any copy: 0 to 127 in the source, 128 to 255 in the destination. */
static u8 source_byte(const u8 *at)
{
	unsigned long n = (unsigned long)at;

	return (13 * n + 3 * (n >> 7)) & 0x7f;
}

static u8 guard_byte(const u8 *at)
{
	return source_byte(at) | 0x80;
}

static void lay_out(struct copy_check *c, u8 *from, u8 *to)
{
	unsigned long i;

	c->from = from;
	c->to = to;
	for (i = 0; i < HALF; i++) {
		from[i] = source_byte(from + i);
		to[i] = guard_byte(to + i);
	}
}

static int wrong(struct copy_check *c, const u8 *dst, const u8 *src, unsigned long n,
		 const char *what, long at, unsigned long want, unsigned long got)
{
	hosted_format(c->counts->text, sizeof(c->counts->text),
		      "%s %s, %lu bytes to alignment %lu from %lu: %s %ld: %lu and not %lu",
		      c->side == HOSTED_BASE ? "base" : "patched", c->kind->name, n,
		      (unsigned long)dst % DST_ALIGNMENTS,
		      (unsigned long)src % SRC_ALIGNMENTS, what, at, got, want);
	return -1;
}

/* Copy, compare every byte of the copy and around it, and restore the guard bytes. */
static int check_copy(struct copy_check *c, u8 *dst, const u8 *src, unsigned long n)
{
	u8 *first = dst - min_t(unsigned long, GUARD, dst - c->to);
	u8 *last = dst + n + min_t(unsigned long, GUARD, c->to + HALF - dst - n);
	u8 *at;

	c->kind->of[0][c->side](dst, src, n);
	c->counts->runs++;
	c->counts->bytes += last - first;

	for (at = first; at < last; at++) {
		bool inside = at >= dst && at < dst + n;
		u8 want = inside ? source_byte(src + (at - dst)) : guard_byte(at);

		if (*at != want)
			return wrong(c, dst, src, n, "byte", at - dst, want, *at);
		if (inside)
			*at = guard_byte(at);
	}
	return 0;
}

static int check_source(struct copy_check *c)
{
	unsigned long i;

	for (i = 0; i < HALF; i++) {
		u8 want = source_byte(c->from + i);

		if (c->from[i] != want)
			return wrong(c, c->to, c->from, 0, "byte of the source", i, want,
				     c->from[i]);
	}
	return 0;
}

/* All alignments, and a destination that ends at an inaccessible page. */
static int check_alignments(struct copy_check *c, unsigned long n)
{
	u8 *dst, *end = c->to + HALF - n;
	unsigned long i, j;

	for (j = 0; j < SRC_ALIGNMENTS; j++) {
		for (i = 0; i < DST_ALIGNMENTS; i += c->kind->step) {
			dst = c->to + HALF / 2 + i;
			c->counts->combinations++;
			if (check_copy(c, dst, c->from + j, n))
				return -1;
		}
		if (!((unsigned long)end % c->kind->step) &&
		    check_copy(c, end, c->from + j, n))
			return -1;
	}
	return 0;
}

/* A destination after an inaccessible page, and a source before one. */
static int check_walls(struct copy_check *c, unsigned long n)
{
	const u8 *src = c->from + HALF - n;
	unsigned long i;

	for (i = 0; i < DST_ALIGNMENTS; i += c->kind->step) {
		if (check_copy(c, c->to + i, src, n))
			return -1;
	}
	return 0;
}

typedef int check_fn(struct copy_check *c, unsigned long n);

static int check_sizes(struct copy_check *c, check_fn *check, unsigned long most)
{
	unsigned long n;

	for (n = 0; n <= most; n++) {
		if (check(c, n))
			return -1;
	}
	HOSTED_CALL(copies_drain, c->side);
	return check_source(c);
}

static void restore(u8 *dst, unsigned long n)
{
	for (; n; n--, dst++)
		*dst = guard_byte(dst);
}

struct copy_run {
	copies_fn *copy;
	void (*drain)(void);
	u8 *dst;
	const u8 *src;
	unsigned long n;
};

static void copy_and_drain(void *data)
{
	struct copy_run *run = data;

	run->copy(run->dst, run->src, run->n);
	run->drain();
}

static void step(struct copy_check *c, enum hosted_side side, u8 *dst, unsigned long n,
		 struct hosted_trace *trace)
{
	struct copy_run run = {
		.copy	= c->kind->of[0][side],
		.drain	= copies_drain_of[0][hosted_checked(c->counts)],
		.dst	= dst,
		.src	= c->from,
		.n	= n,
	};

	memset(trace, 0, sizeof(*trace));
	hosted_single_step(copy_and_drain, &run, trace);
	restore(dst, n);
	c->counts->stepped++;
	c->counts->streamed += trace->streamed;
}

/*
 * memcpy_streaming() streams a whole copy or nothing, and flushes nothing. Constant
 * sizes of 4, 8 and 16 bytes stream to any alignment, as memcpy_flushcache() does.
 */
static unsigned long words_to_stream(const struct copy_check *c, const u8 *dst, unsigned long n)
{
	if (n % 4)
		return 0;
	if ((unsigned long)dst % 8 &&
	    !(c->kind->size == CONSTANT && (n == 4 || n == 8 || n == 16)))
		return 0;
	return DIV_ROUND_UP(n, 8);
}

static int check_steps(struct copy_check *c, unsigned long n)
{
	struct hosted_trace want = {}, got;
	unsigned long i;

	for (i = 0; i < ARRAY_SIZE(stepped_alignments); i++) {
		u8 *dst = c->to + HALF / 2 + stepped_alignments[i];

		if (stepped_alignments[i] % c->kind->step || (n % 4 && i))
			continue;
		if (c->kind->streaming)
			want.streamed = words_to_stream(c, dst, n);
		else
			step(c, HOSTED_BASE, dst, n, &want);
		step(c, hosted_checked(c->counts), dst, n, &got);

		/* Callers of memcpy_flushcache() drain by themselves. */
		if (got.undrained && !(hosted_is_posted(c->side) && want.undrained))
			return wrong(c, dst, c->from, n, "undrained stores, run", i,
				     0, got.undrained);
		/* Posted code may stream other sizes than base. */
		if (hosted_is_posted(c->side))
			continue;
		if (got.streamed != want.streamed)
			return wrong(c, dst, c->from, n, "streaming stores, run", i,
				     want.streamed, got.streamed);
		if (got.flushed != want.flushed)
			return wrong(c, dst, c->from, n, "flushed lines, run", i,
				     want.flushed, got.flushed);
	}
	return 0;
}

int streaming_copy_check(struct hosted_check *check)
{
	const enum hosted_side sides[] = { HOSTED_BASE, hosted_checked(check) };
	u8 *arena = hosted_arena(2 * HALF);
	struct copy_check c = { .counts = check };
	unsigned int side, kind;

	for (side = 0; side < ARRAY_SIZE(sides); side++) {
		c.side = sides[side];
		for (kind = 0; kind < ARRAY_SIZE(kinds); kind++) {
			c.kind = &kinds[kind];
			lay_out(&c, arena, arena + HALF);
			if (check_sizes(&c, check_alignments, COPIES_MAX))
				return -1;
			if (c.side != HOSTED_BASE && c.kind->size != IN_PIECES &&
			    check_sizes(&c, check_steps, STEPPED_MAX))
				return -1;
			lay_out(&c, arena + HALF, arena);
			if (check_sizes(&c, check_walls, COPIES_MAX))
				return -1;
		}
	}
	return 0;
}
