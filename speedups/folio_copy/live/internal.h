/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FOLIO_COPY_LIVE_INTERNAL_H
#define _FOLIO_COPY_LIVE_INTERNAL_H

/*
 * Declarations that a module lacks. The build uses this file as mm/internal.h.
 */

#include <linux/mm.h>
#include <linux/module.h>
#include <linux/uaccess.h>
#include <asm/asm.h>

unsigned long live_copy_mc_to_kernel(void *to, const void *from, unsigned long len);
#undef copy_mc_to_kernel
#define copy_mc_to_kernel(to, from, len)	live_copy_mc_to_kernel(to, from, len)

/* A tree has these in asm/uaccess.h. */
unsigned long copy_mc_pages_streaming(void *to, const void *from,
				      unsigned long npages);

#define copy_mc_pages_streaming		copy_mc_pages_streaming

static __always_inline void copy_mc_touch(const void *from)
{
	u8 byte;

	asm volatile("1: movb (%1), %0\n"
		     "2:\n"
		     _ASM_EXTABLE_TYPE(1b, 2b, EX_TYPE_DEFAULT_MCE_SAFE)
		     : "=a" (byte) : "S" (from));
}

#include "live.h"

extern typeof(folio_mc_copy) live_original_folio_mc_copy, live_folio_mc_copy;

#endif /* _FOLIO_COPY_LIVE_INTERNAL_H */
