// SPDX-License-Identifier: GPL-2.0-only
// The comment in __init_zone_device_page() of 7.0 and later.

	/*
	 * MEMORY_DEVICE_GENERIC pages keep the reference that
	 * __init_single_page() set, and freeing one restores it. Pages of all
	 * other types start free: their driver or filesystem takes the first
	 * reference when it hands them out.
	 */
