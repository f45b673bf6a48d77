/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _FOLIO_COPY_LIVE_INTERNAL_H
#define _FOLIO_COPY_LIVE_INTERNAL_H

/*
 * Declarations that a module lacks. The build uses this file as mm/folio_copy.h,
 * and it includes the original as folio_copy_tree.h.
 */

#include <linux/mm.h>
#include <linux/module.h>

#include "folio_copy_tree.h"
#include "live.h"

extern typeof(folio_copy) live_folio_copy;
extern typeof(folio_mc_copy) live_folio_mc_copy;

#endif /* _FOLIO_COPY_LIVE_INTERNAL_H */
