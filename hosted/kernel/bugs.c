// SPDX-License-Identifier: GPL-2.0-only
/* What a fault of kernel code is about: which ud2 is a WARN(), and what is a struct page. */
#include <linux/bug.h>
#include <linux/mm.h>

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
