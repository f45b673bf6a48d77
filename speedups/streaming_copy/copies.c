// SPDX-License-Identifier: GPL-2.0-only
/* See copies.h. */
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/types.h>

#if __has_include("linux/streaming_copy.h")
#include <linux/streaming_copy.h>
#else
#define memcpy_streaming(dst, src, n)	memcpy(dst, src, n)
#define memcpy_streaming_drain()	do { } while (0)
#endif

#include "copies.h"

/* make(0x00) to make(0xff), and make(0x100). */
#define SIXTEEN(make, n)						\
	make(n##0) make(n##1) make(n##2) make(n##3)			\
	make(n##4) make(n##5) make(n##6) make(n##7)			\
	make(n##8) make(n##9) make(n##a) make(n##b)			\
	make(n##c) make(n##d) make(n##e) make(n##f)
#define EVERY_SIZE(make)						\
	SIXTEEN(make, 0x0) SIXTEEN(make, 0x1) SIXTEEN(make, 0x2)	\
	SIXTEEN(make, 0x3) SIXTEEN(make, 0x4) SIXTEEN(make, 0x5)	\
	SIXTEEN(make, 0x6) SIXTEEN(make, 0x7) SIXTEEN(make, 0x8)	\
	SIXTEEN(make, 0x9) SIXTEEN(make, 0xa) SIXTEEN(make, 0xb)	\
	SIXTEEN(make, 0xc) SIXTEEN(make, 0xd) SIXTEEN(make, 0xe)	\
	SIXTEEN(make, 0xf) make(0x100)

typedef void constant_fn(void *dst, const void *src);

/* The compiler must not merge functions that are the same. */
#if __has_attribute(__noipa__)
#define ALONE	__attribute__((__noipa__))
#else
#define ALONE
#endif

/* tests/test_streaming_copy_hosted.py reads the code of these by name. */
#define CONSTANT(n)							\
	static ALONE void fixed_##n(void *dst, const void *src)		\
	{								\
		memcpy_streaming(dst, src, n);				\
	}								\
	static ALONE void aligned_##n(void *dst, const void *src)	\
	{								\
		memcpy_streaming(__builtin_assume_aligned(dst, 8), src, n); \
	}								\
	static ALONE void flush_##n(void *dst, const void *src)		\
	{								\
		memcpy_flushcache(dst, src, n);				\
	}

EVERY_SIZE(CONSTANT)

#define FIXED(n)	fixed_##n,
#define ALIGNED(n)	aligned_##n,
#define FLUSH(n)	flush_##n,

static constant_fn *const fixed[] = { EVERY_SIZE(FIXED) };
static constant_fn *const aligned[] = { EVERY_SIZE(ALIGNED) };
static constant_fn *const flush[] = { EVERY_SIZE(FLUSH) };

void copies_fixed(void *dst, const void *src, unsigned long n)
{
	fixed[n](dst, src);
}

void copies_aligned(void *dst, const void *src, unsigned long n)
{
	aligned[n](dst, src);
}

void copies_flush_fixed(void *dst, const void *src, unsigned long n)
{
	flush[n](dst, src);
}

void copies_sized(void *dst, const void *src, unsigned long n)
{
	memcpy_streaming(dst, src, n);
}

/* Mix streaming and plain stores: each reads or overwrites what the other kind wrote. */
void copies_pieces(void *dst, const void *src, unsigned long n)
{
	for (; n >= 32; dst += 32, src += 32, n -= 32) {
		memset(dst, 0xff, 32);
		memcpy_streaming(dst + 16, src, 16);
		memcpy_streaming(dst, dst + 16, 16);
		memcpy_streaming(dst + 16, src + 16, 16);
	}
	for (; n >= 16; dst += 16, src += 16, n -= 16) {
		memset(dst, 0xff, 16);
		memcpy_streaming(dst + 8, src, 8);
		memcpy(dst, dst + 8, 8);
		memcpy_streaming(dst + 8, src + 8, 8);
	}
	for (; n >= 8; dst += 8, src += 8, n -= 8) {
		memcpy_streaming(dst + 4, src, 4);
		memcpy_streaming(dst, dst + 4, 4);
		memcpy(dst + 4, src + 4, 4);
	}
	memcpy(dst, src, n);
}

void copies_flush_sized(void *dst, const void *src, unsigned long n)
{
	memcpy_flushcache(dst, src, n);
}

void copies_drain(void)
{
	memcpy_streaming_drain();
}

void copies_lines(void *dst, const void *src, unsigned long bytes)
{
	unsigned long at;

	for (at = 0; at < bytes; at += COPIES_LINE)
		memcpy_streaming(dst + at, src + at % COPIES_BLOCK, COPIES_LINE);
	memcpy_streaming_drain();
}

void copies_blocks(void *dst, const void *src, unsigned long bytes,
		   unsigned long block)
{
	unsigned long at;

	for (at = 0; at < bytes; at += block)
		memcpy_streaming(dst + at, src, min(block, bytes - at));
	memcpy_streaming_drain();
}
