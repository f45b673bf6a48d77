// SPDX-License-Identifier: GPL-2.0-only
// Before the step of vmap_sgt(), this function is static.

int vmap_range_noflush(unsigned long addr, unsigned long end, phys_addr_t phys_addr,
		       pgprot_t prot, unsigned int max_page_shift)
