/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOSTED_HOST_H
#define HOSTED_HOST_H

/* The libc half of a hosted program, which owns memory, time and output. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hosted.h"

#define EFFECTS_SHARE	4096

/* Kernel code aligns its stack to 8 bytes only, but libc needs 16. */
#define FROM_KERNEL	__attribute__((force_align_arg_pointer))

/* The options of the command line. */
struct plan {
	const char **only;		/* cases to run; none means all but extra ones */
	unsigned int nr_only;
	bool all;			/* also run extra cases */
	unsigned long items;		/* 0: as the case says */
	unsigned long llc_bytes;
	bool llc_given;			/* with --llc, so hot cases are sized by it */
	unsigned long cached_bytes;	/* memory that stays cached; 0: unknown */
	bool cached_given;		/* with --cached, so it is not measured */
	unsigned int pairs;
	uint64_t seed;
	uint64_t budget_ns;		/* for the pairs of a case; 0: no bound */
	unsigned long stride;		/* of the check's combinations; 0: no check */
	enum hosted_side checked;	/* whose code is checked */
	bool compared;			/* an earlier start of this program compared the images */
	bool only_posted;		/* leave out the variants of the patched side */
	bool show_unequal;		/* also time posted rows whose image differs */
	bool check_only;
	bool list_only;
};

/* A case whose size is known. */
struct workload {
	const struct hosted_case *c;
	char name[64];
	unsigned long items;
	unsigned long bytes;
	unsigned long memory;		/* the image and what the bench needs besides */
	void *image;
	unsigned char *effects;		/* one byte for 4 KiB of image */
	unsigned int pairs;
	unsigned int rounds;		/* runs of a sample */
};

/* A row of a case's table: a variant or a limit. */
struct row {
	char name[64];
	const struct hosted_variant *variant;
	const struct hosted_limit *limit;
	bool fill;			/* the limit is one of several fills */
	bool one_cpu;			/* the limit on one CPU, in a case for several */
	bool unequal;			/* a posted row whose image differs from base's */
};

/* arena.c */
void *arena_map(unsigned long bytes);
void *arena_map_with(unsigned long bytes, unsigned int beside);
void arena_renew(void *memory, unsigned long bytes);
unsigned long arena_llc_bytes(void);

/*
 * What is known about the last-level cache. The times are of modifying a line that
 * is in the cache and one that is not, 0 if they are unknown.
 */
struct cache {
	unsigned long reported;		/* bytes */
	unsigned long kept;		/* bytes that really stay in it; 0 if unknown */
	double hot_ns;
	double cold_ns;
};

/* cache.c */
bool cache_tells(const struct cache *cache);
bool cache_is_hot(const struct cache *cache, double ns);
unsigned long cache_largest(const struct cache *cache, const unsigned long *bytes,
			    const double *ns, unsigned int nr);
unsigned long cache_step(unsigned long i, unsigned long nr);
double cache_rewrite(void *memory, unsigned long bytes);
void cache_measure(struct cache *cache, bool sizes);

/* check.c */
bool check_run(unsigned long stride, enum hosted_side side);

/* cpus.c */
void cpus_start(void);
unsigned int cpus_here(void);
void cpus_make(unsigned int nr);

/* die.c */
void die_by(void (*end)(void));
void die_in_signal(const char *text, size_t len);

/* emulate.c */
bool emulate(int signal, void *context);

/* faults.c */
void faults_catch(void);
void faults_in_check(const struct hosted_check *check);
void faults_end_check(bool good);

/* fills.c */
#define FILLS	8

unsigned int fills_here(const struct hosted_limit **found);

/* image.c */
void image_poison(const struct workload *w);
void image_warm(const struct workload *w);
bool image_check(const struct workload *w, struct row *rows, unsigned int nr);

/* measure.c */
void note_regime(const struct cache *cache, const struct workload *w,
		 const struct row *base);
void measure(const struct plan *plan, const struct workload *w,
	     const struct row *rows, unsigned int nr, uint64_t seed);

/* memmap.c */
void memmap_in_case(const struct workload *w);
bool memmap_back(const char *at);

/* poison.c */
bool poison_met(void *context, const char *at);
bool poison_copies(void *context, void *to, const void *from, unsigned long bytes);
unsigned long movs_unit(const unsigned char *code);
bool is_movdir64b(const unsigned char *code, unsigned int *to, unsigned int *from);

/* posted.c */
unsigned int posted_rows(struct row *rows);
bool posted_is(const struct row *row);
bool posted_differs(const struct row *rows, unsigned int nr);
unsigned int posted_drop_unequal(struct row *rows, unsigned int nr);

/* row.c */
const char *row_running(void);
void row_select(const struct row *row);
void row_prepare(const struct workload *w, const struct row *row);
void row_run(const struct workload *w, const struct row *row);

/* start.c */
void engine_start(void);

/* step.c */
struct hosted_trace *step_trace(void);
void step_add(struct hosted_trace *sum, const struct hosted_trace *trace);

/* events.c: one JSON object a line on standard output. */
void event_engine(const struct cache *cache);
void event_case(const struct workload *w, const struct row *rows, unsigned int nr);
void event_equal(const struct workload *w, const struct row *row, bool equal,
		 const char *detail);
void event_sample(const struct workload *w, const struct row *row,
		  unsigned int block, unsigned int half, unsigned int pos,
		  uint64_t ns);
void event_note(const char *case_name, const char *text);
void event_check(const struct hosted_check *check, bool good);
void event_done(void);

#endif /* HOSTED_HOST_H */
