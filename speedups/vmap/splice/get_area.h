// SPDX-License-Identifier: GPL-2.0-only
// The declaration that mm/internal.h lacks before 7.0.

struct vm_struct *__get_vm_area_node(unsigned long size, unsigned long align,
				     unsigned long shift, unsigned long flags,
				     unsigned long start, unsigned long end, int node,
				     gfp_t gfp_mask, const void *caller);
