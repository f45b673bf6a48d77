// SPDX-License-Identifier: GPL-2.0-only
/* Workloads for memcpy_streaming(): one that it suits, and one that it does not. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "hosted.h"
#include "check.h"
#include "copies.h"

HOSTED_ENTRY(copies_lines);
HOSTED_ENTRY(copies_blocks);

#define LINES_256M	((256UL << 20) / COPIES_LINE)

/* Sizes of one copy in the workloads, in bytes. */
static const unsigned long line = COPIES_LINE;
static const unsigned long block = COPIES_BLOCK;

static const struct hosted_case streaming_copy_cases[] = {
	{ "constant-64",	"cold",		  LINES_256M, 0, 0, &line },
	{ "sized-4K",		"cold",		  LINES_256M, 0, 0, &block },
	{ "small-hot",		"hot, LLC/4",	  0, 4, HOSTED_HOT, &line },
	{ "small-readback",	"hot, LLC/4, read back", 0, 4,
	  HOSTED_HOT | HOSTED_READBACK, &line },
};

static const struct hosted_variant streaming_copy_variants[] = {
	{ "base",	HOSTED_BASE },
	{ "control",	HOSTED_CONTROL },
	{ "streaming",	HOSTED_PATCHED },
};

static u8 streaming_copy_source[COPIES_BLOCK] __aligned(64);
static void *streaming_copy_image;

static void streaming_copy_setup(void *image, unsigned long bytes)
{
	unsigned long i;

	streaming_copy_image = image;
	for (i = 0; i < sizeof(streaming_copy_source); i++)
		streaming_copy_source[i] = i + i / 256;
}

static void streaming_copy_run(const struct hosted_case *c, enum hosted_side side,
			       unsigned long items)
{
	if (c->data == &line)
		HOSTED_CALL(copies_lines, side, streaming_copy_image, streaming_copy_source,
			    items * COPIES_LINE);
	else
		HOSTED_CALL(copies_blocks, side, streaming_copy_image, streaming_copy_source,
			    items * COPIES_LINE, block);
}

static unsigned long streaming_copy_touch(const void *item)
{
	return *(const unsigned long *)item;
}

const struct hosted_bench hosted_bench = {
	.speedup	= "streaming_copy",
	.item		= "line",
	.item_bytes	= COPIES_LINE,
	.item_memory	= COPIES_LINE,
	.cases		= streaming_copy_cases,
	.nr_cases	= ARRAY_SIZE(streaming_copy_cases),
	.variants	= streaming_copy_variants,
	.nr_variants	= ARRAY_SIZE(streaming_copy_variants),
	.fills		= true,
	.setup		= streaming_copy_setup,
	.check		= streaming_copy_check,
	.check_first	= true,
	.run		= streaming_copy_run,
	.touch		= streaming_copy_touch,
};
