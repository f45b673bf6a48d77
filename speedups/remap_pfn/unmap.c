// SPDX-License-Identifier: GPL-2.0-only
/* Removes the PTEs of a mapping, as munmap() does it, with the name that each kernel has. */
#include <linux/mm.h>
#include <linux/version.h>

void remap_unmap(struct vm_area_struct *vma, unsigned long addr, unsigned long size)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	zap_vma_ptes(vma, addr, size);
#else
	zap_special_vma_range(vma, addr, size);
#endif
}
