// SPDX-License-Identifier: GPL-2.0-only
/* Compare memcpy_streaming() with memcpy() for all sizes and alignments. */

#include <kunit/test.h>
#include <linux/slab.h>
#include <linux/streaming_copy.h>
#include <linux/string.h>

#define ALIGNMENTS	16U
#define MOST		320U
#define GUARD		64U
#define BUFFER		(GUARD + ALIGNMENTS + MOST + GUARD)

struct streaming_copy_buffers {
	u8 *src;
	u8 *dst;
	u8 *want;
};

static int streaming_copy_init(struct kunit *test)
{
	struct streaming_copy_buffers *buffers;
	unsigned int i;

	buffers = kunit_kzalloc(test, sizeof(*buffers), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buffers);
	buffers->src = kunit_kzalloc(test, BUFFER, GFP_KERNEL);
	buffers->dst = kunit_kzalloc(test, BUFFER, GFP_KERNEL);
	buffers->want = kunit_kzalloc(test, BUFFER, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, buffers->src);
	KUNIT_ASSERT_NOT_NULL(test, buffers->dst);
	KUNIT_ASSERT_NOT_NULL(test, buffers->want);

	for (i = 0; i < BUFFER; i++)
		buffers->src[i] = i * 7 + 1;
	test->priv = buffers;

	return 0;
}

/* Poison the destination, and set the content that it must have after a copy. */
static void streaming_copy_expect(struct streaming_copy_buffers *buffers,
				  unsigned int to, unsigned int from,
				  unsigned int n)
{
	memset(buffers->dst, 0xa5, BUFFER);
	memset(buffers->want, 0xa5, BUFFER);
	memcpy(buffers->want + GUARD + to, buffers->src + GUARD + from, n);
}

static void streaming_copy_check(struct kunit *test,
				 struct streaming_copy_buffers *buffers,
				 unsigned int to, unsigned int from,
				 unsigned int n)
{
	KUNIT_ASSERT_TRUE_MSG(test, !memcmp(buffers->dst, buffers->want, BUFFER),
			      "%u bytes from offset %u to offset %u",
			      n, from, to);
}

static void streaming_copy_sized(struct kunit *test)
{
	struct streaming_copy_buffers *buffers = test->priv;
	unsigned int to, from, n;

	for (to = 0; to < ALIGNMENTS; to++) {
		for (from = 0; from < ALIGNMENTS; from++) {
			for (n = 0; n <= MOST; n++) {
				streaming_copy_expect(buffers, to, from, n);
				memcpy_streaming(buffers->dst + GUARD + to,
						 buffers->src + GUARD + from, n);
				memcpy_streaming_drain();
				streaming_copy_check(test, buffers, to, from, n);
			}
		}
		cond_resched();
	}
}

/* Inlined, so that @n is a constant, as it is in the callers that benefit most. */
static __always_inline void streaming_copy_one(struct kunit *test,
					       unsigned int to,
					       unsigned int from, size_t n)
{
	struct streaming_copy_buffers *buffers = test->priv;

	streaming_copy_expect(buffers, to, from, n);
	memcpy_streaming(buffers->dst + GUARD + to, buffers->src + GUARD + from, n);
	memcpy_streaming_drain();
	streaming_copy_check(test, buffers, to, from, n);
}

static void streaming_copy_fixed(struct kunit *test)
{
	unsigned int to, from;

	for (to = 0; to < ALIGNMENTS; to++) {
		for (from = 0; from < ALIGNMENTS; from++) {
			streaming_copy_one(test, to, from, 1);
			streaming_copy_one(test, to, from, 4);
			streaming_copy_one(test, to, from, 8);
			streaming_copy_one(test, to, from, 12);
			streaming_copy_one(test, to, from, 16);
			streaming_copy_one(test, to, from, 24);
			streaming_copy_one(test, to, from, 32);
			streaming_copy_one(test, to, from, 40);
			streaming_copy_one(test, to, from, 48);
			streaming_copy_one(test, to, from, 56);
			streaming_copy_one(test, to, from, 64);
			streaming_copy_one(test, to, from, 72);
			streaming_copy_one(test, to, from, 80);
			streaming_copy_one(test, to, from, 96);
			streaming_copy_one(test, to, from, 128);
			streaming_copy_one(test, to, from, 255);
		}
	}
}

/* The copy is visible to the same CPU without a drain. */
static void streaming_copy_reads_own(struct kunit *test)
{
	struct streaming_copy_buffers *buffers = test->priv;
	unsigned int n;

	for (n = 8; n <= MOST; n += 8) {
		streaming_copy_expect(buffers, 0, 0, n);
		memcpy_streaming(buffers->dst + GUARD, buffers->src + GUARD, n);
		streaming_copy_check(test, buffers, 0, 0, n);
	}
	memcpy_streaming_drain();
}

static struct kunit_case streaming_copy_cases[] = {
	KUNIT_CASE_SLOW(streaming_copy_sized),
	KUNIT_CASE(streaming_copy_fixed),
	KUNIT_CASE(streaming_copy_reads_own),
	{}
};

static struct kunit_suite streaming_copy_suite = {
	.name		= "streaming_copy",
	.init		= streaming_copy_init,
	.test_cases	= streaming_copy_cases,
};

kunit_test_suite(streaming_copy_suite);

MODULE_DESCRIPTION("KUnit tests of memcpy_streaming()");
MODULE_LICENSE("GPL");
