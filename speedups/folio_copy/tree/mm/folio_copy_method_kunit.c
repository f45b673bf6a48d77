// SPDX-License-Identifier: GPL-2.0-only
/* Every method must copy the same bytes, and only those. */

#include <kunit/test.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "folio_copy_method.h"

#define ORDER	9U
#define PAGES	BIT(ORDER)
#define BYTES	(PAGES * PAGE_SIZE)
#define BLANK	0x5a

struct folio_copy_method_folios {
	struct folio *src;
	struct folio *dst;
	const char *method_before;
};

static int folio_copy_method_init(struct kunit *test)
{
	struct folio_copy_method_folios *folios;
	unsigned long i;
	u8 *from;

	folios = kunit_kzalloc(test, sizeof(*folios), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, folios);
	folios->method_before = folio_copy_method();
	test->priv = folios;
	folios->src = folio_alloc(GFP_KERNEL, ORDER);
	folios->dst = folio_alloc(GFP_KERNEL, ORDER);
	KUNIT_ASSERT_NOT_NULL(test, folios->src);
	KUNIT_ASSERT_NOT_NULL(test, folios->dst);
	from = folio_address(folios->src);
	for (i = 0; i < BYTES; i++)
		from[i] = i * 7 + (i >> PAGE_SHIFT) + 1;

	return 0;
}

static void folio_copy_method_exit(struct kunit *test)
{
	struct folio_copy_method_folios *folios = test->priv;

	if (!folios)
		return;
	folio_copy_set_method(folios->method_before);
	if (folios->src)
		folio_put(folios->src);
	if (folios->dst)
		folio_put(folios->dst);
}

static void folio_copy_method_names(struct kunit *test)
{
	const struct folio_copy_method *method;
	unsigned int i;

	for (i = 0; (method = folio_copy_method_at(i)); i++) {
		KUNIT_EXPECT_EQ(test, folio_copy_set_method(method->name), 0);
		KUNIT_EXPECT_STREQ(test, folio_copy_method(), method->name);
	}
	KUNIT_EXPECT_EQ(test, folio_copy_set_method("bulk\n"), 0);
	KUNIT_EXPECT_EQ(test, folio_copy_set_method("no such"), -EINVAL);
	KUNIT_EXPECT_STREQ(test, folio_copy_method(), "bulk");
}

/* Copy all but the first and the last page, which must not change. */
static void folio_copy_method_check(struct kunit *test, bool mc)
{
	struct folio_copy_method_folios *folios = test->priv;
	u8 *to = folio_address(folios->dst), *from = folio_address(folios->src);
	struct page *dst = folio_page(folios->dst, 1), *src = folio_page(folios->src, 1);

	memset(to, BLANK, BYTES);
	if (mc)
		KUNIT_EXPECT_EQ(test, copy_mc_highpages(dst, src, PAGES - 2), 0);
	else
		copy_highpages(dst, src, PAGES - 2);

	KUNIT_EXPECT_NULL(test, memchr_inv(to, BLANK, PAGE_SIZE));
	KUNIT_EXPECT_TRUE(test, !memcmp(to + PAGE_SIZE, from + PAGE_SIZE,
					BYTES - 2 * PAGE_SIZE));
	KUNIT_EXPECT_NULL(test, memchr_inv(to + BYTES - PAGE_SIZE, BLANK, PAGE_SIZE));
}

/* A whole folio is long enough for every method. */
static void folio_copy_method_whole(struct kunit *test)
{
	struct folio_copy_method_folios *folios = test->priv;
	u8 *to = folio_address(folios->dst), *from = folio_address(folios->src);

	memset(to, BLANK, BYTES);
	folio_copy(folios->dst, folios->src);
	KUNIT_EXPECT_TRUE(test, !memcmp(to, from, BYTES));

	memset(to, BLANK, BYTES);
	KUNIT_EXPECT_EQ(test, folio_mc_copy(folios->dst, folios->src), 0);
	KUNIT_EXPECT_TRUE(test, !memcmp(to, from, BYTES));
}

static void folio_copy_method_same_bytes(struct kunit *test)
{
	const struct folio_copy_method *method;
	unsigned int i;

	for (i = 0; (method = folio_copy_method_at(i)); i++) {
		KUNIT_ASSERT_EQ(test, folio_copy_set_method(method->name), 0);
		if (folio_copies_ranges()) {
			folio_copy_method_check(test, false);
			folio_copy_method_check(test, true);
		}
		folio_copy_method_whole(test);
		cond_resched();
	}
}

static struct kunit_case folio_copy_method_cases[] = {
	KUNIT_CASE(folio_copy_method_names),
	KUNIT_CASE(folio_copy_method_same_bytes),
	{}
};

static struct kunit_suite folio_copy_method_suite = {
	.name		= "folio_copy_method",
	.init		= folio_copy_method_init,
	.exit		= folio_copy_method_exit,
	.test_cases	= folio_copy_method_cases,
};

kunit_test_suite(folio_copy_method_suite);
