// SPDX-License-Identifier: GPL-2.0-only
/* What a fault of kernel code is about: which ud2 is a WARN(), and what a struct page is. */
#include <linux/bug.h>
#include <linux/mm.h>
#include <linux/version.h>
#include <../mm/internal.h>

#include "report.h"

extern const struct bug_entry hosted_bugs_start[], hosted_bugs_end[];

int hosted_bug(unsigned long ip)
{
	const struct bug_entry *bug;

	for (bug = hosted_bugs_start; bug < hosted_bugs_end; bug++) {
		if ((unsigned long)&bug->bug_addr_disp + bug->bug_addr_disp == ip)
			return bug->flags & BUGFLAG_WARNING ? HOSTED_WARN : HOSTED_BUG;
	}
	return HOSTED_NO_BUG;
}

/* Whether @at is in the memmap, which need not be there: few cases look at struct pages. */
int hosted_is_memmap(unsigned long at)
{
	return pfn_valid(page_to_pfn((struct page *)(at & -sizeof(struct page))));
}

unsigned int __weak hosted_order(const struct hosted_case *c, unsigned long items,
				 unsigned long pfn)
{
	return 0;
}

void hosted_make_pages(void *start, unsigned long bytes, const struct hosted_case *c,
		       unsigned long items)
{
	struct page *head, *end = start + bytes;
	unsigned int order;
	unsigned long i;

	for (head = start; head < end; head += 1UL << order) {
		order = hosted_order(c, items, page_to_pfn(head));
		atomic_set(&head->_refcount, 1);
		atomic_set(&head->_mapcount, -1);
		if (!order)
			continue;
		__SetPageHead(head);
		for (i = 1; i < 1UL << order; i++) {
			atomic_set(&head[i]._mapcount, -1);
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
			prep_compound_tail(head, i);
#else
			prep_compound_tail(head + i, head, order);
#endif
		}
		prep_compound_head(head, order);
	}
}
