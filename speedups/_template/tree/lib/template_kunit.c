// SPDX-License-Identifier: GPL-2.0-only
/* bin2hex() writes the same text for every byte, length and alignment. */

#include <kunit/test.h>
#include <linux/hex.h>
#include <linux/sprintf.h>
#include <linux/string.h>

#define MOST	64
#define GUARD	0x7e

static void template_check(struct kunit *test, const u8 *src, size_t count,
			   char *dst)
{
	char want[2 * MOST + 1];
	size_t i;

	for (i = 0; i < count; i++)
		snprintf(want + 2 * i, 3, "%02x", src[i]);
	memset(dst, GUARD, 2 * count + 1);

	KUNIT_ASSERT_PTR_EQ(test, bin2hex(dst, src, count), dst + 2 * count);
	KUNIT_ASSERT_MEMEQ(test, dst, want, 2 * count);
	KUNIT_ASSERT_EQ(test, dst[2 * count], GUARD);
}

static void template_every_byte(struct kunit *test)
{
	char dst[2 * MOST + 1];
	u8 src[MOST];
	int first, i;

	for (first = 0; first < 256; first += MOST) {
		for (i = 0; i < MOST; i++)
			src[i] = first + i;
		template_check(test, src, MOST, dst);
	}
}

static void template_lengths_and_alignments(struct kunit *test)
{
	char dst[2 * MOST + 8 + 1];
	int from, to, count, i;
	u8 src[MOST + 8];

	for (i = 0; i < sizeof(src); i++)
		src[i] = 37 * i + 11;
	for (from = 0; from < 8; from++)
		for (to = 0; to < 8; to++)
			for (count = 0; count <= MOST; count++)
				template_check(test, src + from, count, dst + to);
}

static struct kunit_case template_cases[] = {
	KUNIT_CASE(template_every_byte),
	KUNIT_CASE(template_lengths_and_alignments),
	{}
};

static struct kunit_suite template_suite = {
	.name		= "template",
	.test_cases	= template_cases,
};

kunit_test_suite(template_suite);

MODULE_DESCRIPTION("KUnit tests of bin2hex()");
MODULE_LICENSE("GPL");
