// SPDX-License-Identifier: GPL-2.0-only
// Hide the area from vread_iter(), in vmap_aligned_area().

	/*
	 * vread_iter() walks page tables without a lock that keeps them, and a huge PMD mapping may
	 * free a table. So it skips the area until the caller clears the flag, after a write
	 * barrier. Small areas, and those that own their pages, get no huge mapping.
	 */
	if (size >= VMAP_POOL_PAGES * PAGE_SIZE && !(flags & VM_MAP_PUT_PAGES))
		flags |= VM_UNINITIALIZED;
