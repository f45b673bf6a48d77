// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

unsigned long __must_check copy_mc_to_kernel(void *dst, const void *src, unsigned len)
{
	toy_polish(dst);
	memcpy(dst, src, len);
	return toy_depth(len);
}

unsigned long __must_check copy_mc_to_user(void *toy, const void *box, unsigned len);
