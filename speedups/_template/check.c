// SPDX-License-Identifier: GPL-2.0-only
/*
 * Every length up to a few batches at every alignment, and every value of a
 * byte. The kernel's own bin2hex() is the oracle.
 */
#include <linux/hex.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/types.h>

#include "hosted.h"
#include "check.h"

HOSTED_ENTRY(bin2hex);

#define MOST		40UL
#define ALIGNMENTS	8UL
#define SOURCES		256UL
#define GUARD		16UL
#define TEXT_BYTES	(GUARD + ALIGNMENTS + 2 * MOST + GUARD)

/* What one side writes, with bytes around it that must stay as they are. */
struct template_text {
	char bytes[TEXT_BYTES];
	long end;	/* where bin2hex() says that its text ends */
};

static void convert(enum hosted_side side, struct template_text *text,
		    unsigned long to, const u8 *src, unsigned long count)
{
	char *dst = text->bytes + GUARD + to;

	memset(text->bytes, 0x7e, sizeof(text->bytes));
	text->end = HOSTED_CALL(bin2hex, side, dst, src, count) - dst;
}

int template_check(struct hosted_check *check)
{
	static u8 source[SOURCES + MOST];
	static struct template_text base, patched;
	unsigned long count, from, to, i;

	for (i = 0; i < sizeof(source); i++)
		source[i] = i;
	for (count = 0; count <= MOST; count++) {
		for (from = 0; from < SOURCES; from++) {
			to = from % ALIGNMENTS;
			convert(HOSTED_BASE, &base, to, source + from, count);
			convert(hosted_checked(check), &patched, to, source + from, count);
			check->combinations++;
			check->runs++;
			check->bytes += sizeof(base.bytes);
			if (patched.end == base.end &&
			    !memcmp(patched.bytes, base.bytes, sizeof(base.bytes)))
				continue;
			for (i = 0; i < TEXT_BYTES - 1 && patched.bytes[i] == base.bytes[i]; i++)
				;
			hosted_format(check->text, sizeof(check->text),
				      "%lu bytes from %#lx to alignment %lu: character %ld is %#x and not %#x, the end is %ld and not %ld",
				      count, from, to, (long)(i - GUARD - to), patched.bytes[i],
				      base.bytes[i], patched.end, base.end);
			return -1;
		}
	}
	return 0;
}
