/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H
#define _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H

static int memory_offline_isolate(unsigned long start, unsigned long end)
{
	return start_isolate_page_range(start, end, MIGRATE_MOVABLE, 0, GFP_KERNEL);
}

static void memory_offline_undo(unsigned long start, unsigned long end)
{
	undo_isolate_page_range(start, end, MIGRATE_MOVABLE);
}

#endif /* _MM_MEMORY_OFFLINE_KUNIT_COMPAT_H */
