/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef COPIES_H
#define COPIES_H

/*
 * Callers of memcpy_streaming(), which is in headers only: copies.c is compiled
 * once against the tree as it is, where they call memcpy(), and once against
 * the spliced one.
 */

#define COPIES_MAX	256UL	/* constants from 0 to this */
#define COPIES_LINE	64UL
#define COPIES_BLOCK	4096UL

typedef void copies_fn(void *dst, const void *src, unsigned long n);

/* Each size by code of its own, for which it is a compile-time constant. */
copies_fn copies_fixed;
copies_fn copies_aligned;	/* which knows that @dst is aligned to 8 bytes */
copies_fn copies_flush_fixed;	/* memcpy_flushcache() */

/* The size known at run time only. */
copies_fn copies_sized;
copies_fn copies_flush_sized;

/* By constants of 16, 8 and 4, with plain stores to the same words in between. */
copies_fn copies_pieces;

void copies_drain(void);

/* Fill @bytes at @dst from one COPIES_BLOCK of source, again and again. */
void copies_lines(void *dst, const void *src, unsigned long bytes);
void copies_blocks(void *dst, const void *src, unsigned long bytes,
		   unsigned long block);

#endif /* COPIES_H */
