/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _LIB_TEMPLATE_H
#define _LIB_TEMPLATE_H

#include <linux/types.h>

size_t template_bin2hex(char *dst, const void *src, size_t count);

#endif /* _LIB_TEMPLATE_H */
