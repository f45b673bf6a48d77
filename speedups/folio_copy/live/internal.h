/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FOLIO_COPY_LIVE_INTERNAL_H
#define _FOLIO_COPY_LIVE_INTERNAL_H

/*
 * What a kernel tree has and a module lacks. Lies in the place of
 * mm/folio_copy_internal.h, which it includes.
 */

#include <linux/folio_copy.h>
#include <linux/mm.h>
#include <linux/module.h>

#include "folio_copy_tree.h"
#include "live.h"

/* A module has one initcall, and the code around all speed-ups makes it. */
#undef late_initcall
#define late_initcall(function)						\
	int __init live_start(void)					\
	{								\
		return function();					\
	}

extern typeof(folio_copy) live_folio_copy;
extern typeof(folio_mc_copy) live_folio_mc_copy;

#endif /* _FOLIO_COPY_LIVE_INTERNAL_H */
