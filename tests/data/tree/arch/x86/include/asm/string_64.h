/* SPDX-License-Identifier: GPL-2.0-only */
#include <linux/jump_label.h>

static __always_inline void memcpy_flushcache(void *dst, const void *src, size_t cnt)
{
	if (cnt == 3) {
		toy_three(dst, src);
		return;
	}
	__memcpy_flushcache(dst, src, cnt);
}
