// SPDX-License-Identifier: GPL-2.0-only
/*
 * The scan of memory that goes offline, for callers outside of mm/memory_hotplug.c: it is
 * static there, so this file has all of that one.
 */
#include <../mm/memory_hotplug.c>

int offline_scan(unsigned long start, unsigned long end, unsigned long *movable_pfn)
{
	return scan_movable_pages(start, end, movable_pfn);
}
