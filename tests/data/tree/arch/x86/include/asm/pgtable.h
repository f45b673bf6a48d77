/* SPDX-License-Identifier: GPL-2.0-only */
/* Made up for tests: the hooks find their places, the code means nothing. */
#ifndef TOY_PGTABLE_H
#define TOY_PGTABLE_H

#include <linux/mem_encrypt.h>

#define pte_advance_pfn	pte_advance_pfn

#endif
