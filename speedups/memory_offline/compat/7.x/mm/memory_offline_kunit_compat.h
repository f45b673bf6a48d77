/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H
#define _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H

static int memory_offline_isolate(unsigned long start, unsigned long end)
{
	return start_isolate_page_range(start, end, PB_ISOLATE_MODE_OTHER);
}

static void memory_offline_undo(unsigned long start, unsigned long end)
{
	undo_isolate_page_range(start, end);
}

#endif /* _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H */
