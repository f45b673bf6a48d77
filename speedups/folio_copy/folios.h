/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef FOLIOS_H
#define FOLIOS_H

/* Memory with struct pages, and CPUs to copy it with, for the bench and the check. */
#include <linux/types.h>

struct folio;
struct page;

/* A CPU to run copies on. */
struct folios_cpu {
	const char *name;
	int rep_good, erms, fsrm;	/* 0, 1, or negative for the real CPU's */
	int movdir64b;			/* 1 is emulated, slowly, if the CPU has none */
	bool fragile;			/* needs copy_mc_fragile() */
};

extern const struct folios_cpu folios_cpus[];
extern const unsigned int folios_nr_cpus;

/* Make [memory, memory + bytes) the direct map; its first page has the index 0. */
void folios_map(void *memory, unsigned long bytes);
struct page *folios_page(unsigned long i);
void *folios_address(unsigned long i);
unsigned long folios_index(unsigned long pfn);

/* Make the pages from index @i on a folio. */
struct folio *folios_make(unsigned long i, unsigned int order);

/*
 * Times in ns that patched code measures instead of real ones, in turn, or NULL, and how
 * many it has measured.
 */
#define FOLIOS_TIMES	2
extern const unsigned long *folios_times;
extern unsigned int folios_timed;

/* Switch to the code that @cpu would run. */
void folios_be(const struct folios_cpu *cpu);

#endif /* FOLIOS_H */
