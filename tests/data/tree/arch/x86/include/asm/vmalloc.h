/* SPDX-License-Identifier: GPL-2.0-only */
/* Made up for tests: the hooks find their places, the code means nothing. */
#ifndef _ASM_X86_VMALLOC_H
#define _ASM_X86_VMALLOC_H

#endif /* _ASM_X86_VMALLOC_H */
