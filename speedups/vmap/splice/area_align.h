// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap_area.c asks, in mm/vmap_internal.h.

/* Size of the smallest leaf entry that is larger than a page. */
#define VMAP_LEAST	(ARCH_VMAP_GROUP_SHIFT - PAGE_SHIFT ? \
			 BIT(ARCH_VMAP_GROUP_SHIFT) : PMD_SIZE)

/*
 * Whether a mapping of vmap() may have leaf entries that are larger than a page. An area
 * that owns its pages may not, because vrealloc() may unmap and free its last pages.
 */
static inline bool vmap_may_be_huge(unsigned long flags, pgprot_t prot)
{
	return vmap_batches() && vmap_huge_allowed() &&
	       arch_vmap_pmd_supported(prot) && !(flags & VM_MAP_PUT_PAGES);
}

/*
 * The alignment of an area for memory that begins @lead bytes before a multiple of
 * @leaf; 0 if none helps.
 */
static inline unsigned long vmap_align_for(unsigned long leaf, unsigned long lead)
{
	return lead ? 0 : leaf;
}
