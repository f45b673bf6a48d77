// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for bin2hex(): one that gains, one of real callers, one that cannot gain. */
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "hosted.h"
#include "check.h"

HOSTED_ENTRY(bin2hex);

#define SOURCE_BYTES	4096UL

/* Bytes that one call converts. */
static const unsigned long buffer = SOURCE_BYTES;
static const unsigned long digest = 32;
static const unsigned long tail = 3;

/*
 * The image is the text. A case without a size of its own has the size of a
 * part of the last-level cache, here a quarter.
 */
static const struct hosted_case template_cases[] = {
	{ "buffer-4K",	"cold",		64UL << 20, 0, 0, &buffer },
	{ "digest-32",	"hot, LLC/4",	0, 4, HOSTED_HOT, &digest },
	{ "tail-3",	"hot, LLC/4",	0, 4, HOSTED_HOT, &tail },
};

/* base and control come first. A variant "auto" is what a user would get. */
static const struct hosted_variant template_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "batched",	HOSTED_PATCHED },
};

static u8 template_source[SOURCE_BYTES];
static char *template_text;

static void template_setup(void *image, unsigned long bytes)
{
	unsigned long i;

	template_text = image;
	for (i = 0; i < SOURCE_BYTES; i++)
		template_source[i] = 13 * i + 3 * (i >> 8);
}

static void template_run(const struct hosted_case *c, enum hosted_side side,
			 unsigned long items)
{
	const unsigned long size = *(const unsigned long *)c->data;
	unsigned long at;

	for (at = 0; at < items; at += size)
		HOSTED_CALL(bin2hex, side, template_text + 2 * at,
			    template_source + at % (SOURCE_BYTES - size + 1),
			    min(size, items - at));
}

static unsigned long template_touch(const void *item)
{
	return *(const u16 *)item;
}

const struct hosted_bench hosted_bench = {
	.speedup	= "template",
	.item		= "byte",
	.item_bytes	= 2,
	.item_memory	= 1,
	.cases		= template_cases,
	.nr_cases	= ARRAY_SIZE(template_cases),
	.variants	= template_variants,
	.nr_variants	= ARRAY_SIZE(template_variants),
	.fills		= true,
	.setup		= template_setup,
	.check		= template_check,
	.check_first	= true,
	.run		= template_run,
	.touch		= template_touch,
};
