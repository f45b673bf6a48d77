// SPDX-License-Identifier: GPL-2.0-only
/*
 * Copies must have the right bytes, and no others may change. If pages are poisoned,
 * the first of them must be found, with one machine check if its place is certain.
 * Machine checks are simulated, so no memory is actually poisoned.
 */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "folio_copy.h"

#define ORDER		9U
#define PAGES		BIT(ORDER)
#define FEW		32UL	/* pages of the tests with poison */
#define BLANK		0x5a
#define LINE		64UL

struct folio_copy_folios {
	struct folio *src;
	struct folio *dst;
};

static void folio_copy_wipe(struct folio_copy_folios *folios)
{
	memset(folio_address(folios->dst), BLANK, folio_size(folios->dst));
}

static void folio_copy_fill(struct folio_copy_folios *folios)
{
	u8 *from = folio_address(folios->src);
	unsigned long i;

	for (i = 0; i < PAGES * PAGE_SIZE; i++)
		from[i] = i * 7 + (i >> PAGE_SHIFT) + 1;
	folio_copy_wipe(folios);
}

static int folio_copy_test_init(struct kunit *test)
{
	struct folio_copy_folios *folios;

	if (!folio_copies_ranges())
		kunit_skip(test, "pages are copied one by one");

	folios = kunit_kzalloc(test, sizeof(*folios), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, folios);
	test->priv = folios;
	folios->src = folio_alloc(GFP_KERNEL, ORDER);
	folios->dst = folio_alloc(GFP_KERNEL, ORDER);
	KUNIT_ASSERT_NOT_NULL(test, folios->src);
	KUNIT_ASSERT_NOT_NULL(test, folios->dst);
	folio_copy_fill(folios);

	return 0;
}

static void folio_copy_test_exit(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;

	if (!folios)
		return;
	if (folios->src)
		folio_put(folios->src);
	if (folios->dst)
		folio_put(folios->dst);
}

/* Copy some pages of the folio; the pages around them must not change. */
static void folio_copy_check(struct kunit *test, unsigned long at,
			     unsigned long nr, bool mc)
{
	struct folio_copy_folios *folios = test->priv;
	u8 *to = folio_address(folios->dst), *from = folio_address(folios->src);
	unsigned long begin = at * PAGE_SIZE, end = (at + nr) * PAGE_SIZE;
	struct page *dst = folio_page(folios->dst, at);
	struct page *src = folio_page(folios->src, at);

	if (mc)
		KUNIT_ASSERT_EQ(test, copy_mc_highpages(dst, src, nr), 0);
	else
		copy_highpages(dst, src, nr);

	KUNIT_ASSERT_NULL(test, memchr_inv(to, BLANK, begin));
	KUNIT_ASSERT_TRUE(test, !memcmp(to + begin, from + begin, end - begin));
	KUNIT_ASSERT_NULL(test, memchr_inv(to + end, BLANK,
					   PAGES * PAGE_SIZE - end));
	memset(to + begin, BLANK, end - begin);
}

static void folio_copy_same_bytes(struct kunit *test)
{
	static const unsigned long lengths[] = { 1, 2, 3, 16, 100, PAGES - 2 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(lengths); i++) {
		folio_copy_check(test, 1, lengths[i], false);
		folio_copy_check(test, 1, lengths[i], true);
		cond_resched();
	}
}

static void folio_copy_whole(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;
	u8 *to = folio_address(folios->dst), *from = folio_address(folios->src);

	folio_copy(folios->dst, folios->src);
	KUNIT_EXPECT_TRUE(test, !memcmp(to, from, PAGES * PAGE_SIZE));

	folio_copy_wipe(folios);
	KUNIT_ASSERT_EQ(test, folio_mc_copy(folios->dst, folios->src), 0);
	KUNIT_EXPECT_TRUE(test, !memcmp(to, from, PAGES * PAGE_SIZE));
}

/* Copy one page in atomic context, as aio does. DEBUG_ATOMIC_SLEEP reports a violation. */
static void folio_copy_atomic(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;
	unsigned long flags;
	int err;

	local_irq_save(flags);
	copy_highpages(folio_page(folios->dst, 0), folio_page(folios->src, 0), 1);
	err = copy_mc_highpages(folio_page(folios->dst, 1),
				folio_page(folios->src, 1), 1);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, err, 0);
	KUNIT_EXPECT_TRUE(test, !memcmp(folio_address(folios->dst),
					folio_address(folios->src),
					2 * PAGE_SIZE));
}

/* The page that is written to is at an end of the folio, next to one, or in the middle. */
static void folio_copy_on_write(struct kunit *test)
{
	static const unsigned long pages[] = { 0, 1, PAGES / 2, PAGES - 2, PAGES - 1 };
	struct folio_copy_folios *folios = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		/* Addresses of user space are aligned to the folio. */
		unsigned long addr = (pages[i] + PAGES) * PAGE_SIZE + 8;

		folio_copy_wipe(folios);
		KUNIT_ASSERT_EQ(test, 0,
				folio_copy_user(folios->dst, folios->src, addr));
		KUNIT_EXPECT_TRUE(test, !memcmp(folio_address(folios->dst),
						folio_address(folios->src),
						PAGES * PAGE_SIZE));
		cond_resched();
	}
}

/* A simulated copy, which stops at the poison or some bytes earlier. */
static const void *folio_copy_poison;
static unsigned long folio_copy_early;
static unsigned int folio_copy_checks;
static unsigned int folio_copy_last_check;

static unsigned long folio_copy_mc_fake(void *to, const void *from,
					unsigned long npages)
{
	unsigned long len = npages << PAGE_SHIFT, offset;

	if (folio_copy_poison < from || folio_copy_poison >= from + len ||
	    folio_copy_checks >= folio_copy_last_check) {
		memcpy(to, from, len);
		return 0;
	}

	folio_copy_checks++;
	offset = ALIGN_DOWN(folio_copy_poison - from, LINE);
	memcpy(to, from, offset);
	return len - offset + min(folio_copy_early, offset);
}

static unsigned long folio_copy_good_pages(struct folio_copy_folios *folios,
					   unsigned long poison,
					   unsigned int last_check)
{
	folio_copy_poison = folio_address(folios->src) + poison;
	folio_copy_last_check = last_check;
	folio_copy_checks = 0;

	return folio_copy_range(folio_copy_mc_fake, folio_address(folios->dst),
				folio_address(folios->src), FEW, FEW / 2);
}

/* Whether a copy that stops at this offset may have poison in the next page. */
static bool folio_copy_is_unsure(unsigned long at)
{
	bool at_start = at % (FEW / 2 * PAGE_SIZE) < LINE;
	unsigned long stop = at_start ? at : at - min(folio_copy_early, at);

	return ALIGN_DOWN(stop, LINE) % PAGE_SIZE >= PAGE_SIZE - SZ_1K;
}

static void folio_copy_check_poison(struct kunit *test, unsigned long at)
{
	struct folio_copy_folios *folios = test->priv;
	bool unsure = folio_copy_is_unsure(at);

	KUNIT_EXPECT_EQ_MSG(test, at / PAGE_SIZE,
			    folio_copy_good_pages(folios, at, UINT_MAX),
			    "poison at %lu, %lu early", at, folio_copy_early);
	KUNIT_EXPECT_EQ_MSG(test, 1 + unsure, folio_copy_checks,
			    "machine checks at %lu, %lu early", at, folio_copy_early);
	if (!unsure)
		return;

	/* The poison is gone at the second access. */
	KUNIT_EXPECT_EQ(test, FEW, folio_copy_good_pages(folios, at, 1));
	KUNIT_EXPECT_TRUE(test, !memcmp(folio_address(folios->dst),
					folio_address(folios->src),
					FEW * PAGE_SIZE));
}

static void folio_copy_poisoned(struct kunit *test)
{
	static const unsigned long pages[] = {
		0, 1, FEW / 2 - 1, FEW / 2, FEW / 2 + 1, FEW - 1,
	};
	static const unsigned long offsets[] = {
		0, LINE - 1, LINE, PAGE_SIZE - SZ_1K - 1, PAGE_SIZE - SZ_1K,
		PAGE_SIZE - LINE, PAGE_SIZE - 1,
	};
	unsigned int i, j;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		for (j = 0; j < ARRAY_SIZE(offsets); j++) {
			unsigned long at = pages[i] * PAGE_SIZE + offsets[j];

			folio_copy_early = 0;
			folio_copy_check_poison(test, at);
			folio_copy_early = LINE;
			folio_copy_check_poison(test, at);
		}
	}
}

static struct kunit_case folio_copy_cases[] = {
	KUNIT_CASE(folio_copy_same_bytes),
	KUNIT_CASE(folio_copy_whole),
	KUNIT_CASE(folio_copy_atomic),
	KUNIT_CASE(folio_copy_on_write),
	KUNIT_CASE(folio_copy_poisoned),
	{}
};

static struct kunit_suite folio_copy_suite = {
	.name		= "folio_copy",
	.init		= folio_copy_test_init,
	.exit		= folio_copy_test_exit,
	.test_cases	= folio_copy_cases,
};

kunit_test_suite(folio_copy_suite);
