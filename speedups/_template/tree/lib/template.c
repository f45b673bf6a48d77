// SPDX-License-Identifier: GPL-2.0-only
/* Hexadecimal text, four bytes at a time. */
#include <linux/types.h>
#include <linux/unaligned.h>

#include "template.h"

#define BATCH	4

/*
 * Return the eight characters of four bytes, the first character in the lowest
 * byte. 0x9f, as the first of the bytes, shows the steps:
 *
 *	spread		0x009f		each byte gets the place of two characters
 *	nibbles		0x0f09		the high nibble comes first, so it is lower
 *	characters	'9' 'f'		39 lies between '9' + 1 and 'a'
 *
 * A nibble n is a letter if n + 6 has bit 4 set, which holds from 10 on.
 */
static u64 hex_of(u32 bytes)
{
	u64 spread = bytes, nibbles, letters;

	spread = (spread | spread << 16) & 0x0000ffff0000ffffULL;
	spread = (spread | spread << 8) & 0x00ff00ff00ff00ffULL;
	nibbles = (spread >> 4 | spread << 8) & 0x0f0f0f0f0f0f0f0fULL;
	letters = (nibbles + 0x0606060606060606ULL) >> 4 & 0x0101010101010101ULL;

	return nibbles + 0x3030303030303030ULL + letters * ('a' - '9' - 1);
}

/**
 * template_bin2hex() - convert the start of a buffer to hexadecimal text
 * @dst: gets the text, two characters for each byte
 * @src: the bytes to convert
 * @count: number of bytes
 *
 * - The text is that of hex_byte_pack(), for every byte.
 * - Nothing after the text of the converted bytes is written.
 * - Neither @dst nor @src needs an alignment. They must not overlap.
 *
 * Context: Any.
 * Return: The number of bytes that were converted: @count, rounded down to a
 * multiple of four. The caller converts the rest.
 */
size_t template_bin2hex(char *dst, const void *src, size_t count)
{
	size_t done;

	for (done = 0; count - done >= BATCH; done += BATCH)
		put_unaligned_le64(hex_of(get_unaligned_le32(src + done)), dst + 2 * done);

	return done;
}
