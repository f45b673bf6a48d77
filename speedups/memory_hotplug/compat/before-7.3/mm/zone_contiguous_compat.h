/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_CONTIGUOUS_COMPAT_H
#define _MM_ZONE_CONTIGUOUS_COMPAT_H

/* Where set_zone_contiguous() and __pageblock_pfn_to_page() are declared. */
#include "internal.h"

#endif /* _MM_ZONE_CONTIGUOUS_COMPAT_H */
