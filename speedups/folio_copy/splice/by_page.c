// SPDX-License-Identifier: GPL-2.0-only
// Takes the place of the conditions in mm/folio_copy.c.

#if defined(CONFIG_HIGHMEM) || defined(ARCH_HAS_FLUSH_ON_KUNMAP) || \
	defined(CONFIG_KMSAN)
#define FOLIO_COPY_BY_PAGE	true
#elif defined(copy_highpage_is_plain)
#define FOLIO_COPY_BY_PAGE	(!copy_highpage_is_plain())
#elif defined(__HAVE_ARCH_COPY_HIGHPAGE)
#define FOLIO_COPY_BY_PAGE	true
#else
#define FOLIO_COPY_BY_PAGE	false
#endif
