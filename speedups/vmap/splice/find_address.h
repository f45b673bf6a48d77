// SPDX-License-Identifier: GPL-2.0-only
// What the step "phase" adds to mm/vmap_internal.h.
unsigned long vmap_find_address(unsigned long size, unsigned long align,
				unsigned long offset);
