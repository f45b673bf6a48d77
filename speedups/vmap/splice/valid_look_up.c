// SPDX-License-Identifier: GPL-2.0-only
// Ask pfn_valid() once for each section, in mm/vmalloc.c, and of a run once for each unit.

/* As vmap_page_valid(), for contiguous pages. */
static __always_inline bool vmap_pages_valid(struct page **pages, unsigned long nr)
{
	unsigned long pfn = page_to_pfn(pages[0]);
	const unsigned long end = pfn + nr;

	for (; pfn < end; pfn += VMAP_UNIT - pfn % VMAP_UNIT) {
		if (!pfn_valid(pfn))
			return false;
	}

	return true;
}

/* Out of line, so that the loops stay small. */
static noinline bool vmap_look_up(struct vmap_sections *sections, unsigned long nr,
				  unsigned long pfn)
{
	if (!vmap_is_early(pfn) && !vmap_is_whole(pfn))
		return pfn_valid(pfn);
	__set_bit(nr, sections->valid);
	return true;
}

/*
 * pfn_valid() takes longer than all else for a page that is in no run. It is the same for
 * all pages of a section that was present at boot, or that has no hole, so each of those is
 * looked up once, until a page is outside of the bitmap. With a bit for each, an array may
 * alternate between them.
 */
static __always_inline bool vmap_pfn_valid(struct vmap_sections *sections, unsigned long pfn)
{
	unsigned long nr = vmap_section(pfn) ^ sections->first;

	if (nr < VMAP_SECTIONS)
		return (sections->valid[BIT_WORD(nr)] & BIT_MASK(nr)) ||
		       vmap_look_up(sections, nr, pfn);

	/* If pages are near and far at random, CPUs mispredict. So remember nothing from now on. */
	sections->first = ULONG_MAX;
	return vmap_is_early(pfn) || pfn_valid(pfn);
}
