// SPDX-License-Identifier: GPL-2.0-only
// Follows copy_highpage() in arch/arm64/include/asm/page.h.

static inline void copy_pages(void *to, const void *from, unsigned long npages)
{
	for (; npages; npages--, to += PAGE_SIZE, from += PAGE_SIZE)
		copy_page(to, from);
}

/* Returns 0, because no machine check is survived, as in copy_highpage(). */
static inline unsigned long copy_mc_pages(void *to, const void *from,
					  unsigned long npages)
{
	copy_pages(to, from, npages);
	return 0;
}

/* Without memory tags, copy_highpage() copies the bytes of a page and does no more. */
#define can_copy_pages() \
	(!system_supports_mte() && !kasan_hw_tags_enabled())
