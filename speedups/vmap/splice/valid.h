// SPDX-License-Identifier: GPL-2.0-only
// Whether pages are valid, for all kernels, in mm/vmap.h.

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

/* The same as pfn_valid(), but faster for most pages if @batches, which is vmap_batches(). */
static __always_inline bool vmap_is_valid(unsigned long pfn, bool batches)
{
	return (batches && vmap_is_early(pfn)) || pfn_valid(pfn);
}
