/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FOLIO_COPY_LIVE_INTERNAL_H
#define _FOLIO_COPY_LIVE_INTERNAL_H

/*
 * Declarations that a module lacks. The build uses this file as mm/internal.h.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <asm/alternative.h>
#include <asm/cpufeature.h>

/* A tree has these in asm/page_64.h and asm/uaccess.h. */
static inline void copy_pages(void *to, const void *from, unsigned long npages)
{
	unsigned long left = npages << PAGE_SHIFT;

	asm volatile(ALTERNATIVE("shr $3, %0; rep movsq", "rep movsb", X86_FEATURE_ERMS)
		     : "+c" (left), "+D" (to), "+S" (from) : : "memory");
}

void copy_pages_streaming(void *to, const void *from, unsigned long npages);
unsigned long copy_mc_pages(void *to, const void *from, unsigned long npages);
unsigned long copy_mc_pages_streaming(void *to, const void *from,
				      unsigned long npages);

#define can_copy_pages()		cpu_feature_enabled(X86_FEATURE_REP_GOOD)
#define copy_pages_streaming		copy_pages_streaming
#define copy_pages_streams_lines()	cpu_feature_enabled(X86_FEATURE_MOVDIR64B)
#define copy_mc_pages_streaming		copy_mc_pages_streaming

#include "live.h"

extern typeof(folio_copy) live_original_folio_copy, live_folio_copy;
extern typeof(folio_mc_copy) live_original_folio_mc_copy, live_folio_mc_copy;

#endif /* _FOLIO_COPY_LIVE_INTERNAL_H */
