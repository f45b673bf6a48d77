/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COPIES_H
#define COPIES_H

/*
 * Callers of memcpy_streaming(). Because that is in headers only, copies.c is
 * compiled twice: against the original tree, where they call memcpy(), and against
 * the spliced tree.
 */

#define COPIES_MAX	256UL	/* constants from 0 to this */
#define COPIES_LINE	64UL
#define COPIES_BLOCK	4096UL

typedef void copies_fn(void *dst, const void *src, unsigned long n);

/* Each size has its own code, where it is a compile-time constant. */
copies_fn copies_fixed;
copies_fn copies_aligned;	/* its compiler knows that @dst is aligned to 8 bytes */
copies_fn copies_flush_fixed;	/* memcpy_flushcache() */

/* The size is known only at run time. */
copies_fn copies_sized;
copies_fn copies_flush_sized;

/* In constant pieces of 16, 8 and 4 bytes, with plain stores to the same words between. */
copies_fn copies_pieces;

void copies_drain(void);

/* Fill @bytes at @dst with repetitions of one COPIES_BLOCK of source. */
void copies_lines(void *dst, const void *src, unsigned long bytes);
void copies_blocks(void *dst, const void *src, unsigned long bytes,
		   unsigned long block);

#endif /* COPIES_H */
