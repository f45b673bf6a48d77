// SPDX-License-Identifier: GPL-2.0-only
// The comment in __init_zone_device_page() of 6.12.

	/*
	 * MEMORY_DEVICE_PRIVATE and MEMORY_DEVICE_COHERENT pages start free:
	 * their driver takes the first reference when it hands them out. Pages
	 * of all other types keep the one that __init_single_page() set.
	 */
