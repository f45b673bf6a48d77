// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for folio_zero_user(), which clears folios by clear_pages() or clear_page(). */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/sizes.h>

#include "folios.h"

#define LINE		64UL
#define PAGES_2M	(SZ_2M >> PAGE_SHIFT)
#define PAGES_1G	(SZ_1G >> PAGE_SHIFT)

static const unsigned int order_4k, order_64k = 4, order_2m = 9, order_1g = 18;

/*
 * A page fault clears one folio: it comes from the page allocator, and is in no cache
 * (cold) or was just freed (hot). Then the process reads or writes it. Of smaller
 * folios, so many are cleared that they make up 2 MiB.
 */
static const struct hosted_case clear_pages_cases[] = {
	{ "2M-cold",	  "flushed",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_FLUSHED,
	  &order_2m },
	{ "2M-cold-read", "flushed, read back", PAGES_2M, 0,
	  HOSTED_FIXED | HOSTED_FLUSHED | HOSTED_READBACK, &order_2m },
	{ "2M-hot",	  "hot",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_HOT,
	  &order_2m },
	{ "64K-cold",	  "flushed",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_FLUSHED,
	  &order_64k },
	{ "64K-hot",	  "hot",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_HOT,
	  &order_64k },
	{ "4K-cold",	  "flushed",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_FLUSHED,
	  &order_4k },
	{ "4K-hot",	  "hot",		PAGES_2M, 0, HOSTED_FIXED | HOSTED_HOT,
	  &order_4k },
	{ "1G-cold",	  "cold",		PAGES_1G, 0, HOSTED_FIXED, &order_1g },
	{ "1G-cold-read", "cold, read back",	PAGES_1G, 0, HOSTED_FIXED | HOSTED_READBACK,
	  &order_1g },
};

static const struct hosted_variant clear_pages_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
};

static void clear_pages_setup(void *image, unsigned long bytes)
{
	folios_map(image, bytes);
}

static void clear_pages_begin(const struct hosted_case *c)
{
	unsigned int order = *(const unsigned int *)c->data;
	unsigned long i;

	for (i = 0; i < c->items; i += 1UL << order)
		folios_make(i, order);
}

static void clear_pages_run(const struct hosted_case *c, enum hosted_side side,
			    unsigned long items)
{
	unsigned long i, nr = 1UL << *(const unsigned int *)c->data;

	for (i = 0; i < items; i += nr)
		folios_zero(side, i, nr / 3);
}

static unsigned long clear_pages_touch(const void *page)
{
	const unsigned long *word = page;
	unsigned long sum = 0, i;

	for (i = 0; i < PAGE_SIZE / sizeof(*word); i += LINE / sizeof(*word))
		sum += word[i];
	return sum;
}

const struct hosted_bench hosted_bench = {
	.speedup	= "clear_pages",
	.item		= "page",
	.item_bytes	= PAGE_SIZE,
	.item_memory	= PAGE_SIZE,
	.cases		= clear_pages_cases,
	.nr_cases	= ARRAY_SIZE(clear_pages_cases),
	.variants	= clear_pages_variants,
	.nr_variants	= ARRAY_SIZE(clear_pages_variants),
	.fills		= HOSTED_FILLS_ZERO,
	.setup		= clear_pages_setup,
	.begin		= clear_pages_begin,
	.run		= clear_pages_run,
	.touch		= clear_pages_touch,
	.check		= clear_pages_check,
};
