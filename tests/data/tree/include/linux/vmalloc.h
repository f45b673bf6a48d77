/* SPDX-License-Identifier: GPL-2.0-only */
/* Made up for tests. */
struct notifier_block;

void *vmap_pfn(unsigned long *pfns, unsigned int count, pgprot_t prot);
