/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef MATRIX_H
#define MATRIX_H

#include <linux/mm.h>
#include <linux/scatterlist.h>
#include <linux/types.h>

#include "hosted.h"

#define MATRIX_MOST	2600UL	/* pages of an array */
#define CHECK_METHODS	4

/* The array that is being checked. */
struct matrix {
	struct hosted_check *check;
	struct page **pages;
	struct sg_table *table;		/* of the same pages */
	u64 *reference;
	unsigned long number, nr;
	pgprot_t prot;
	const char *method;
	u64 random;
};

extern const struct matrix_method {
	const char *name;
	bool pmd;
	bool phase;
} check_methods[CHECK_METHODS];

/* Whose code is checked. Posted code has no methods, so it is checked as if it had one. */
static inline enum hosted_side check_side(const struct matrix *m)
{
	return hosted_checked(m->check);
}

static inline bool check_is_posted(const struct matrix *m)
{
	return hosted_is_posted(check_side(m));
}

/* Our own steps before "valid" leave pages that do not exist to kernels with DEBUG_VM. */
bool check_leaves_invalid(const struct matrix *m);

static inline unsigned int check_nr_methods(const struct matrix *m)
{
	return check_is_posted(m) ? 1 : CHECK_METHODS;
}

/* Report an error with the description of the array; returns -1. */
int check_wrong(const struct matrix *m, const char *what, unsigned long i,
		unsigned long expected, unsigned long got);

unsigned long check_random(struct matrix *m, unsigned long below);
pgprot_t check_random_prot(struct matrix *m);

/* Fill the array with runs of all lengths and alignments, and disturb the order of some. */
void check_fill(struct matrix *m);

/* Switch to a method. */
int check_choose(struct matrix *m, unsigned int method);

/* Purge lazily freed areas. */
void check_purge(enum hosted_side side);

/* Check every page of a mapping, and the guard page after it. */
int check_translation(const struct matrix *m, unsigned long addr, bool pmd);

/* Check what vmap() must reject: a PTE in use, an invalid page, a hole in memory. */
int check_rejections(struct matrix *m);
int check_no_memory(struct matrix *m);

int check_ranges(struct matrix *m);

#endif /* MATRIX_H */
