/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOLIOS_H
#define FOLIOS_H

/*
 * Memory with descriptors, and CPUs to copy it with: what the bench and the check
 * both need.
 */
#include <linux/types.h>

struct folio;
struct page;

/* A CPU that copies are for. */
struct folios_cpu {
	const char *name;
	int rep_good, erms, fsrm;	/* 0, 1, or negative for as found */
	bool fragile;			/* copies of poison word by word */
};

extern const struct folios_cpu folios_cpus[];
extern const unsigned int folios_nr_cpus;

/* Let [memory, memory + bytes) be the direct map of pages; the first is number 0. */
void folios_map(void *memory, unsigned long bytes);
struct page *folios_page(unsigned long i);
void *folios_address(unsigned long i);
unsigned long folios_index(unsigned long pfn);

/* Make the pages from @i on a folio. */
struct folio *folios_make(unsigned long i, unsigned int order);

/* Put page @i on the node whose memory is slow. */
void folios_slow(unsigned long i);

/* Run all that follows as @cpu would. */
void folios_be(const struct folios_cpu *cpu);

#endif /* FOLIOS_H */
