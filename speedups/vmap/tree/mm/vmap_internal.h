/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* Shared by vmap.c, vmap_method.c, the KUnit tests and the benchmark. */

#include <linux/align.h>
#include <linux/bitmap.h>
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
#include <linux/pgtable.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "pgalloc-track.h"
#include "vmap.h"
#include "vmap_compat.h"

#include <asm/vmap.h>

/*
 * What is done in batches; a method is a set of these.
 *
 * VMAP_RUNS	write the PTEs of contiguous pages together
 * VMAP_PMD	let vmap() use huge PMD mappings, and align areas for them
 * VMAP_DETECT	look at the last page of a possible PMD block before all others
 * VMAP_PHASE	let vmap() place an area at the same offset from a multiple of PMD_SIZE
 *		as its memory
 */
#define VMAP_RUNS	BIT(0)
#define VMAP_PMD	BIT(1)
#define VMAP_DETECT	BIT(2)
#ifndef VMAP_PHASE
#define VMAP_PHASE	BIT(3)
#endif

#endif /* _MM_VMAP_INTERNAL_H */
