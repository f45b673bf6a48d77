// SPDX-License-Identifier: GPL-2.0-only
/*
 * The struct pages of gigantic pages, for callers outside of mm/hugetlb.c: its functions are
 * static, so this file has all of that one. They stay cold code, which GCC makes small rather
 * than fast, but in a section that can be placed.
 */
#include <linux/init.h>
#include <linux/version.h>

/* Some configurations leave hugetlb out. No struct page depends on it. */
#ifndef CONFIG_HUGETLB_PAGE
#define CONFIG_HUGETLBFS	1
#define CONFIG_HUGETLB_PAGE	1
#endif

#undef __init
#define __init __cold __section(".text")

#include <../mm/hugetlb.c>

#include "boot.h"

static struct hstate *size_of(unsigned int order)
{
	static struct hstate h;

	h.order = order;
	return &h;
}

void gigantic_reserve(unsigned long pfn, unsigned long zone, int nid)
{
	struct page *head = pfn_to_page(pfn);

	__init_single_page(head, pfn, zone, nid);
	__SetPageReserved(head);
}

void gigantic_begin(unsigned long pfn, unsigned int order, unsigned long end)
{
	hugetlb_folio_init_vmemmap(pfn_folio(pfn), size_of(order), end);
}

void gigantic_end(unsigned long pfn, unsigned int order, unsigned long start, unsigned long end)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	hugetlb_folio_init_tail_vmemmap(pfn_folio(pfn), start, end);
#else
	hugetlb_folio_init_tail_vmemmap(pfn_folio(pfn), size_of(order), start, end);
#endif
}
