// SPDX-License-Identifier: GPL-2.0-only
// Before 7.0, this function is static.

struct vm_struct *__get_vm_area_node(unsigned long size, unsigned long align,
				     unsigned long shift, unsigned long flags,
				     unsigned long start, unsigned long end, int node,
				     gfp_t gfp_mask, const void *caller)
