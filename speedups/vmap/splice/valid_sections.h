// SPDX-License-Identifier: GPL-2.0-only
// What is remembered of the results of pfn_valid(), in mm/vmap_internal.h.

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
