// SPDX-License-Identifier: GPL-2.0-only
// Precedes zone_device_stream() in mm/mm_init.c.

/*
 * Stores alone do not make every CPU fetch the next lines of a memmap that is not in the
 * cache, though the loads of the slow path do. So prefetch, even past the memmap's end:
 * on x86, prefetch() would bypass the cache, and prefetchw() gains less on some CPUs.
 * On AMD Zen 4, half as far gains much less, and a multiple of 4 KiB takes longer where
 * the memmap is in the cache.
 */
#define ZONE_DEVICE_AHEAD	112

static void zone_device_copy(struct page *page, const struct page *tmpl, unsigned long nr)
{
	for (; nr; nr--, page++) {
		__builtin_prefetch(page + ZONE_DEVICE_AHEAD);
		memcpy(page, tmpl, sizeof(*page));
	}
}

#if defined(WANT_PAGE_VIRTUAL) || defined(SECTION_IN_PAGE_FLAGS)
#define ZONE_DEVICE_UNEQUAL	true
#else
#define ZONE_DEVICE_UNEQUAL	false
#endif
