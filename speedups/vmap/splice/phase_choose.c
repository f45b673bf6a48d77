// SPDX-License-Identifier: GPL-2.0-only
// In vmap_aligned_area(): an alignment that is no power of two has an offset.
		if (!is_power_of_2(align))
			area = vmap_area_at_offset(size, align, flags, caller);
		else
			area = __get_vm_area_node(size, align, PAGE_SHIFT, flags,
						  VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
						  GFP_KERNEL | __GFP_NOWARN, caller);
