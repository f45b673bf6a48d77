/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_VMAP_INTERNAL_H
#define _MM_VMAP_INTERNAL_H

/* Shared by the files that map contiguous memory in batches. */

#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgalloc.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#include "internal.h"
#include "vmap.h"

/*
 * log2 of the size of a contiguous PTE block, called a group here: aligned PTEs that
 * take one TLB entry. PAGE_SHIFT if this architecture has no such blocks; one that has
 * them and opts in to batches must define it.
 */
#ifndef ARCH_VMAP_GROUP_SHIFT
#define ARCH_VMAP_GROUP_SHIFT	PAGE_SHIFT
#endif

/*
 * arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift) maps @nr contiguous pages from
 * the page of @pte on into init_mm, with leaf entries of at most 1 << @max_shift
 * bytes. All PTEs are in the same table, and none is in use. The pages may belong to
 * several folios or to none. set_ptes() does not allow that in general, so each
 * architecture that maps in batches must be checked for it.
 */
#ifndef arch_vmap_set_ptes
#define arch_vmap_set_ptes(mm, addr, ptep, pte, nr, max_shift)	\
	set_ptes(mm, addr, ptep, pte, nr)
#endif

#define VMAP_PMD_PAGES	(PMD_SIZE / PAGE_SIZE)

/* If tables of PTEs are in the way of fewer blocks, these are mapped by PTEs. */
#define VMAP_FREE_BLOCKS	8

/**
 * struct vmap_tables - tables of PTEs that were detached, to be freed together
 * @list: the tables
 * @first: first address that one of them maps
 * @last: first address that the last one of them maps
 */
struct vmap_tables {
	struct list_head list;
	unsigned long first;
	unsigned long last;
};

void vmap_detach_table(pmd_t *pmd, unsigned long addr, struct vmap_tables *old);
void vmap_free_tables(struct vmap_tables *old);

/* Sections that can be remembered: with 4K pages, those in an aligned 32 GB. */
#define VMAP_SECTIONS	256UL

/**
 * struct vmap_sections - what is remembered of the results of pfn_valid()
 * @first: number of the section of the first page, or ULONG_MAX if nothing is remembered
 *	any more
 * @valid: of the sections around @first, those of which all pages are known to be valid
 */
struct vmap_sections {
	unsigned long first;
	DECLARE_BITMAP(valid, VMAP_SECTIONS);
};

#if VMAP_UNIT > 1
static inline unsigned long vmap_section(unsigned long pfn)
{
	return pfn_to_section_nr(pfn);
}
#else
static inline unsigned long vmap_section(unsigned long pfn)
{
	return 0;
}
#endif

#if VMAP_UNIT > 1 && defined(CONFIG_SPARSEMEM_VMEMMAP)
/*
 * Whether all pages of a section are valid, although it was added later. It has no hole while
 * the caller of vmap() holds pages of it.
 */
static inline bool vmap_is_whole(unsigned long pfn)
{
	struct mem_section *section = __pfn_to_section(pfn);
	struct mem_section_usage *usage;
	bool whole;

	rcu_read_lock_sched();
	usage = valid_section(section) ? READ_ONCE(section->usage) : NULL;
	whole = usage && bitmap_full(usage->subsection_map, SUBSECTIONS_PER_SECTION);
	rcu_read_unlock_sched();

	return whole;
}
#else
static inline bool vmap_is_whole(unsigned long pfn)
{
	return false;
}
#endif

#endif /* _MM_VMAP_INTERNAL_H */
