// SPDX-License-Identifier: GPL-2.0-only
/* Every method must copy the same bytes. */

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

static void folio_copy_method_same_bytes(struct kunit *test)
{
	struct folio_copy_method_folios *folios = test->priv;
	u8 *to = folio_address(folios->dst), *from = folio_address(folios->src);
	const struct folio_copy_method *method;
	unsigned int i;

	for (i = 0; (method = folio_copy_method_at(i)); i++) {
		KUNIT_ASSERT_EQ(test, folio_copy_set_method(method->name), 0);
		memset(to, BLANK, BYTES);
		KUNIT_EXPECT_EQ(test, folio_mc_copy(folios->dst, folios->src), 0);
		KUNIT_EXPECT_TRUE(test, !memcmp(to, from, BYTES));
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
