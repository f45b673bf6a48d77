// SPDX-License-Identifier: GPL-2.0-only
/*
 * A large folio must have the bytes that a copy of each of its pages makes, and no other
 * byte may change.
 */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/string.h>

#define ORDER	9U
#define BLANK	0x5a

struct folio_copy_folios {
	struct folio *src;
	struct folio *slow;	/* copied page by page */
	struct folio *dst;	/* twice as large, to see what changes after it */
};

static int folio_copy_test_init(struct kunit *test)
{
	struct folio_copy_folios *folios;

	folios = kunit_kzalloc(test, sizeof(*folios), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, folios);
	test->priv = folios;

	return 0;
}

static void folio_copy_put(struct folio_copy_folios *folios)
{
	if (folios->src)
		folio_put(folios->src);
	if (folios->slow)
		folio_put(folios->slow);
	if (folios->dst)
		folio_put(folios->dst);
	memset(folios, 0, sizeof(*folios));
}

static void folio_copy_test_exit(struct kunit *test)
{
	if (test->priv)
		folio_copy_put(test->priv);
}

/* Make folios, the first two of them equal. */
static void folio_copy_make(struct kunit *test, unsigned int order)
{
	struct folio_copy_folios *folios = test->priv;
	unsigned long i;
	u8 *from;

	folio_copy_put(folios);
	folios->src = folio_alloc(GFP_KERNEL, order);
	folios->slow = folio_alloc(GFP_KERNEL, order);
	folios->dst = folio_alloc(GFP_KERNEL, order + 1);
	KUNIT_ASSERT_NOT_NULL(test, folios->src);
	KUNIT_ASSERT_NOT_NULL(test, folios->slow);
	KUNIT_ASSERT_NOT_NULL(test, folios->dst);

	from = folio_address(folios->src);
	for (i = 0; i < folio_size(folios->src); i++)
		from[i] = i * 7 + (i >> PAGE_SHIFT) + 1;
	for (i = 0; i < folio_nr_pages(folios->src); i++)
		KUNIT_ASSERT_EQ(test, 0, copy_mc_highpage(folio_page(folios->slow, i),
							  folio_page(folios->src, i)));
	memset(folio_address(folios->dst), BLANK, folio_size(folios->dst));
}

static void folio_copy_compare(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;
	size_t size = folio_size(folios->src);
	u8 *to = folio_address(folios->dst);

	KUNIT_EXPECT_EQ(test, 0, memcmp(to, folio_address(folios->slow), size));
	KUNIT_EXPECT_EQ(test, 0, memcmp(folio_address(folios->src),
					folio_address(folios->slow), size));
	KUNIT_EXPECT_NULL(test, memchr_inv(to + size, BLANK, size));
}

static void folio_copy_orders(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;
	unsigned int order;

	for (order = 0; order <= ORDER; order++) {
		folio_copy_make(test, order);
		KUNIT_EXPECT_EQ(test, 0, folio_mc_copy(folios->dst, folios->src));
		folio_copy_compare(test);
		cond_resched();
	}
}

/* Copy one page in atomic context, as aio may. DEBUG_ATOMIC_SLEEP reports a violation. */
static void folio_copy_atomic(struct kunit *test)
{
	struct folio_copy_folios *folios = test->priv;
	unsigned long flags;
	int err;

	folio_copy_make(test, 0);
	local_irq_save(flags);
	err = folio_mc_copy(folios->dst, folios->src);
	local_irq_restore(flags);

	KUNIT_EXPECT_EQ(test, 0, err);
	folio_copy_compare(test);
}

/* The page that is written to is at an end of the folio, next to one, or in the middle. */
static void folio_copy_on_write(struct kunit *test)
{
	static const unsigned long pages[] = {
		0, 1, BIT(ORDER) / 2, BIT(ORDER) - 2, BIT(ORDER) - 1,
	};
	struct folio_copy_folios *folios = test->priv;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(pages); i++) {
		/* Addresses of user space are aligned to the folio. */
		unsigned long addr = (pages[i] + BIT(ORDER)) * PAGE_SIZE + 8;
		struct folio *dst;

		folio_copy_make(test, ORDER);
		dst = folio_alloc(GFP_KERNEL, ORDER);
		KUNIT_ASSERT_NOT_NULL(test, dst);
		KUNIT_EXPECT_EQ(test, 0,
				copy_user_large_folio(dst, folios->src, addr, NULL));
		KUNIT_EXPECT_EQ(test, 0, memcmp(folio_address(dst),
						folio_address(folios->slow),
						folio_size(dst)));
		folio_put(dst);
		cond_resched();
	}
}

static struct kunit_case folio_copy_cases[] = {
	KUNIT_CASE(folio_copy_orders),
	KUNIT_CASE(folio_copy_atomic),
	KUNIT_CASE(folio_copy_on_write),
	{}
};

static struct kunit_suite folio_copy_suite = {
	.name		= "folio_copy",
	.init		= folio_copy_test_init,
	.exit		= folio_copy_test_exit,
	.test_cases	= folio_copy_cases,
};

kunit_test_suite(folio_copy_suite);
