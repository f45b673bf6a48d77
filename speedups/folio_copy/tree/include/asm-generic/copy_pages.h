/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_GENERIC_COPY_PAGES_H
#define _ASM_GENERIC_COPY_PAGES_H

#include <linux/uaccess.h>
#include <asm/page.h>

#ifndef copy_pages
static inline void copy_pages(void *to, const void *from, unsigned long npages)
{
	for (; npages; npages--, to += PAGE_SIZE, from += PAGE_SIZE)
		copy_page(to, (void *)from);
}
#endif

#ifndef copy_mc_pages
static inline unsigned long copy_mc_pages(void *to, const void *from,
					  unsigned long npages)
{
#ifdef copy_mc_to_kernel
	return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);
#else
	copy_pages(to, from, npages);
	return 0;
#endif
}
#endif

#ifndef copy_mc_pages_streaming
#define copy_mc_pages_streaming		copy_mc_pages
#endif

#endif /* _ASM_GENERIC_COPY_PAGES_H */
