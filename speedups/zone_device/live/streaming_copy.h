/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ZONE_DEVICE_LIVE_STREAMING_COPY_H
#define _ZONE_DEVICE_LIVE_STREAMING_COPY_H

/*
 * The memcpy_flushcache() of a spliced kernel, for memcpy_streaming(). The build uses
 * this file as <linux/streaming_copy.h>, and it includes the original as
 * streaming_copy_tree.h.
 */

#include <linux/string.h>
#include <asm/movnti.h>

static __always_inline void zone_device_flushcache(void *dst, const void *src,
						   size_t n)
{
	if (__builtin_constant_p(n) && movnti_fixed(dst, src, n))
		return;
	memcpy_flushcache(dst, src, n);
}

#define memcpy_flushcache	zone_device_flushcache

#include "streaming_copy_tree.h"

#endif /* _ZONE_DEVICE_LIVE_STREAMING_COPY_H */
