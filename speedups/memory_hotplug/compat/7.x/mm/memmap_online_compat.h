/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMMAP_ONLINE_COMPAT_H
#define _MM_MEMMAP_ONLINE_COMPAT_H

#define memmap_flags(page)	((page)->flags.f)

#endif /* _MM_MEMMAP_ONLINE_COMPAT_H */
