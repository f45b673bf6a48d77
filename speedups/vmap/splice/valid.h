// SPDX-License-Identifier: GPL-2.0-only
// Whether pages are valid, for all kernels, in mm/vmalloc.c.

/*
 * In an aligned block of VMAP_UNIT pages, pfn_valid() is the same for all pages, and
 * pages that are adjacent in memory are adjacent in the memmap. The architectures
 * that map in batches use sparsemem and its pfn_valid(), so their units are large.
 * For all others a unit of one page is correct, if slow.
 */
#if defined(CONFIG_HAVE_ARCH_PFN_VALID) || !defined(CONFIG_SPARSEMEM)
#define VMAP_UNIT	1UL
#elif defined(CONFIG_SPARSEMEM_VMEMMAP)
#define VMAP_UNIT	PAGES_PER_SUBSECTION
#else
#define VMAP_UNIT	PAGES_PER_SECTION
#endif

#if VMAP_UNIT > 1
/*
 * Whether a page is valid because its section was present at boot. Unlike pfn_valid(),
 * this needs no RCU lock, because it does not look at the map of subsections.
 */
static __always_inline bool vmap_is_early(unsigned long pfn)
{
	struct mem_section *section = __pfn_to_section(pfn);

	return valid_section(section) && early_section(section);
}
#else
static inline bool vmap_is_early(unsigned long pfn)
{
	return false;
}
#endif

/* The same as pfn_valid(), but faster for most pages where pages are mapped in batches. */
static __always_inline bool vmap_page_valid(struct page *page)
{
	const unsigned long pfn = page_to_pfn(page);

	return (vmap_batches() && vmap_is_early(pfn)) || pfn_valid(pfn);
}

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
