/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_STREAMING_COPY_H
#define _ASM_GENERIC_STREAMING_COPY_H

#include <linux/string.h>

/* These are macros, so that FORTIFY_SOURCE still sees the caller's objects. */
#ifndef memcpy_streaming
#define memcpy_streaming(dst, src, n)	((void)memcpy(dst, src, n))
#define memcpy_streaming_drain()	do { } while (0)
#endif

#endif /* _ASM_GENERIC_STREAMING_COPY_H */
