// SPDX-License-Identifier: GPL-2.0-only
// In vmap(): show the area when everything is mapped.
	if (area->flags & VM_UNINITIALIZED)
		clear_vm_uninitialized_flag(area);
