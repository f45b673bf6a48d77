// SPDX-License-Identifier: GPL-2.0-only
// Show the area when everything is mapped, in mm/vmalloc.c.

	err = vmap_fill_area(addr, addr + size, prot, pages, area->flags);
	if (!err)
		clear_vm_uninitialized_flag(area);

	return err;
