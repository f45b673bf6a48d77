/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* What vmap.c and vmap_method.c share, and need around them. */

#include <linux/align.h>
#include <linux/bits.h>
#include <linux/bug.h>
#include <linux/cacheflush.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/kmsan.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/moduleparam.h>
#include <linux/page_table_check.h>
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "pgalloc-track.h"
#include "vmap.h"
#include "vmap_compat.h"

#include <asm/vmap.h>

/* What may be done in batches; a method is a set of these. */
#define VMAP_RUNS	BIT(0)	/* PTEs of contiguous pages are written together */
#define VMAP_PMD	BIT(1)	/* vmap() may use PMD leafs, and aligns for them */
#define VMAP_DETECT	BIT(2)	/* the last page of a would-be block is asked first */
#ifndef VMAP_PHASE
#define VMAP_PHASE	BIT(3)	/* vmap() finds addresses in phase with memory */
#endif

#endif /* _MM_VMAP_INTERNAL_H */
