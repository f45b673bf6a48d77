/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MMBATCH_BIND_COMPAT_H
#define _MMBATCH_BIND_COMPAT_H

/* The driver's function that gets a page which nobody uses any more. */
#define BIND_FREE		folio_free
#define BIND_FREE_PARAM		struct folio *folio

#endif /* _MMBATCH_BIND_COMPAT_H */
