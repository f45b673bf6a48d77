// SPDX-License-Identifier: GPL-2.0-only
// Follows the distance of the prefetch in mm/zone_device.c.

/*
 * From this size of the memmap on, stream it. A smaller one may be in the cache, where
 * streaming takes longer than the slow path on some CPUs, while copying takes less time
 * on all. The size of the last-level cache is no guide: a virtual machine may have a
 * small share of what CPUID reports.
 */
#define ZONE_DEVICE_LARGE	SZ_64M
