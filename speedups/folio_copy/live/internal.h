/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FOLIO_COPY_LIVE_INTERNAL_H
#define _FOLIO_COPY_LIVE_INTERNAL_H

/*
 * Declarations that a module lacks. The build uses this file as mm/internal.h.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <asm/alternative.h>
#include <asm/cpufeature.h>

unsigned long live_copy_mc_to_kernel(void *to, const void *from, unsigned long len);
#undef copy_mc_to_kernel
#define copy_mc_to_kernel(to, from, len)	live_copy_mc_to_kernel(to, from, len)

/* A tree has these in asm/uaccess.h. */
unsigned long copy_mc_pages_streaming(void *to, const void *from,
				      unsigned long npages);

#define copy_pages_streams_lines()	cpu_feature_enabled(X86_FEATURE_MOVDIR64B)
#define copy_mc_pages_streaming		copy_mc_pages_streaming

#include "live.h"

extern typeof(folio_mc_copy) live_original_folio_mc_copy, live_folio_mc_copy;

#endif /* _FOLIO_COPY_LIVE_INTERNAL_H */
