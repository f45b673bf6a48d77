/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOSTED_H
#define HOSTED_H

/* Written for each program: the posted sides that it has. A test may do without it. */
#if __has_include("posted.h")
#include "posted.h"
#else
#define HOSTED_NR_POSTED	0
#define HOSTED_POSTED_LABELS
#define HOSTED_DECLARE_POSTED(fn)
#define HOSTED_POSTED_SIDES(fn, layout)
#endif

/*
 * The interface between the two halves of a hosted program. One half is kernel
 * objects, with hosted/kernel/ and the bench, which are compiled like them. The
 * other half, hosted/host/, uses libc and owns memory, time and output. This header
 * has plain C types only, so that both can include it.
 */

/* The builds of a speed-up's objects that one program holds. */
enum hosted_side {
	HOSTED_BASE,		/* the tree's own objects */
	HOSTED_CONTROL,		/* the same again: any difference is noise */
	HOSTED_PATCHED,		/* built from the spliced tree */
	HOSTED_POSTED,		/* the first of the posted sides */
	HOSTED_SIDES = HOSTED_POSTED + HOSTED_NR_POSTED
};

/*
 * Each side is linked HOSTED_LAYOUTS times, with its code at different offsets
 * in a cache line. All rows of a block use the same layout.
 */
#define HOSTED_LAYOUTS	4

extern unsigned int hosted_layout;

/* State of the image before a timed run, and what is timed. */
#define HOSTED_HOT	1u	/* the image is in the cache, just written */
#define HOSTED_READBACK	2u	/* reading all items once is timed too */
/* The size is part of the case's name, and the user cannot change it. */
#define HOSTED_FIXED	4u
#define HOSTED_FLUSHED	16u	/* no line of the image is in the cache */
/* Run only if it is named, or with --all. */
#define HOSTED_EXTRA_CASE	8u
/*
 * A run takes about a microsecond or less, and reading the clock is a large part of
 * that. So a sample is the time of many runs, each of which is prepared as usual.
 */
#define HOSTED_SHORT	32u
/*
 * The image's memory was given back, so the first write to a page of it takes a page
 * fault, as on a hypervisor when a guest writes memory for the first time.
 */
#define HOSTED_FRESH	64u
/* Something else than writing the image is timed, so no fill is a limit. */
#define HOSTED_NO_FILLS	128u

/* Ends the name of a row that is another one on one CPU, in a case for several. */
#define HOSTED_ONE_CPU	", 1 CPU"

/**
 * struct hosted_case - one workload
 * @name: row of the table; the size replaces an '@' in it, or else is appended
 *	  unless it is fixed
 * @regime: what is cold or warm, and how the memory is backed
 * @items: size, which the user can override and which is part of the row's name;
 *	   0 takes it from @llc_part
 * @llc_part: the image has the size of the last-level cache divided by this, or of
 *	      what really stays in the cache if that is less
 * @flags: HOSTED_HOT, HOSTED_READBACK, HOSTED_FIXED, HOSTED_EXTRA_CASE,
 *	   HOSTED_FLUSHED, HOSTED_SHORT, HOSTED_FRESH, HOSTED_NO_FILLS
 * @data: the bench's own
 * @cpus: kernel code may use so many CPUs, and fills do; 0 for one. A variant whose
 *	  name ends with HOSTED_ONE_CPU is another one that uses one
 */
struct hosted_case {
	const char *name;
	const char *regime;
	unsigned long items;
	unsigned int llc_part;
	unsigned int flags;
	const void *data;
	unsigned int cpus;
};

/**
 * struct hosted_variant - one way to do the work
 * @name: row of the table
 * @side: whose code runs
 * @setting: passed to hosted_bench.select() before each run; may be NULL
 * @applies: whether it is a row of a case; NULL if it is one of all
 */
struct hosted_variant {
	const char *name;
	enum hosted_side side;
	const char *setting;
	int (*applies)(const struct hosted_case *c);
};

/**
 * struct hosted_limit - work that no variant can do less of
 * @name: row of the table, after "limit:"
 * @run: do it over the image
 * @bounds: whether it bounds a case; NULL if it bounds all
 * @reads: it only reads, so it bounds the case in addition to the fastest fill, and
 *	   nothing is read back after it
 */
struct hosted_limit {
	const char *name;
	void (*run)(void *image, unsigned long bytes);
	int (*bounds)(const struct hosted_case *c);
	int reads;
};

/**
 * struct hosted_check - what a bench's check counts and reports
 * @stride: try every @stride-th combination; 1 for all
 * @combinations: different inputs that were tried
 * @runs: runs of patched code that were compared
 * @bytes: bytes that were compared
 * @stepped: runs that were followed instruction by instruction
 * @streamed: streaming stores in those runs
 * @side: whose code is compared; only hosted_checked() reads it
 * @asked: hosted_checked() has been called
 * @text: the first difference
 */
struct hosted_check {
	unsigned long stride;
	unsigned long combinations;
	unsigned long runs;
	unsigned long bytes;
	unsigned long stepped;
	unsigned long streamed;
	enum hosted_side side;
	int asked;
	char text[512];
};

/**
 * hosted_checked() - whose code a check compares with base
 * @check: the check
 *
 * Return: HOSTED_PATCHED, or a posted side with `check --patch`. A check that never
 * calls this function can't compare posted code, and is refused then.
 */
static inline enum hosted_side hosted_checked(struct hosted_check *check)
{
	check->asked = 1;
	return check->side;
}

/* Posted code has none of the methods and functions that only the speed-up has. */
static inline int hosted_is_posted(enum hosted_side side)
{
	return side >= HOSTED_POSTED;
}

#define HOSTED_WATCHES	8

/**
 * struct hosted_trace - what a run did, instruction by instruction
 * @watch: addresses of functions to look for; NULL for none
 * @visited: a bit for each of them that was reached
 * @movsb: iterations of rep movsb
 * @movsq: iterations of rep movsq
 * @instructions: instructions of the run; a rep movs counts once
 * @streamed: non-temporal stores among them
 * @undrained: non-temporal stores that no sfence followed
 * @elsewhere: the same of work items, on their own CPUs
 * @flushed: cache lines that were written back or evicted by address
 */
struct hosted_trace {
	const void *watch[HOSTED_WATCHES];
	unsigned long visited;
	unsigned long movsb;
	unsigned long movsq;
	unsigned long instructions;
	unsigned long streamed;
	unsigned long undrained;
	unsigned long elsewhere;
	unsigned long flushed;
};

#define HOSTED_POISONS	2

/**
 * struct hosted_poison - memory that raises a machine check when it is read
 * @at: addresses, each of which poisons its line of 64 bytes; NULL for none
 * @from: start of the memory that is read; poison lies in pages after this one
 * @early: bytes by which the registers of a string instruction lag
 * @gone_after: machine checks after which all poison is gone; 0 for never
 * @taken: machine checks that kernel code took and survived
 * @fatal: a machine check hit an instruction without an exception table entry.
 *	   A kernel panics there; the run was given up
 */
struct hosted_poison {
	const void *at[HOSTED_POISONS];
	const void *from;
	unsigned long early;
	unsigned int gone_after;
	unsigned int taken;
	int fatal;
};

/* For work that clears memory: the engine's fills write zeroes, too. */
#define HOSTED_FILLS_ZERO	2

/**
 * struct hosted_bench - what a speed-up's bench.c offers to the engine
 * @speedup: its name
 * @item: what is counted ("struct page")
 * @item_bytes: size of an item in the image
 * @item_memory: bytes of memory that an item stands for, in the row's name
 * @cases: workloads
 * @nr_cases: how many
 * @variants: rows in the order of the table; the first two are base and control
 * @nr_variants: how many
 * @fills: the work writes the whole image, so the fastest of the engine's fills
 *	   bounds every case; true, or HOSTED_FILLS_ZERO
 * @limits: other rows that bound the variants
 * @nr_limits: how many
 * @beside: memory that the work needs besides the image, in multiples of the
 *	    image's size; it starts at the first multiple of 2 MiB after the image
 * @setup: called when the image is mapped, before anything runs on it
 * @begin: called before a case, to choose the CPU features of the case. May be NULL.
 * @arrange: bring the caches into the state that a run starts with; not timed. May
 *	     be NULL.
 * @select: choose a variant's setting; negative if this CPU does not support it
 * @prepare: make what @run needs, with the same side's code; not timed. May be NULL.
 * @run: do the work of a case with one side's code; this is what is timed
 * @collect: copy into the image what @run wrote elsewhere; not timed. May be NULL.
 * @touch: read an item as its next user would; the caller adds up the results
 * @check: compare the code of hosted_checked() with its oracle over many small
 *	   inputs, for --check; negative, with a text, at the first difference. May
 *	   be NULL.
 * @fuzz: interpret any bytes as a sequence of calls, make them with patched code
 *	  and verify the outcome; negative, with a text, if it is wrong. The same
 *	  bytes must always have the same effect. May be NULL.
 * @check_first: @check is short, so no case is run before it has passed
 *
 * The image is the memory that the work writes. It is compared byte for byte
 * between the sides before anything is timed, so @run must produce an identical
 * image whenever it is called.
 */
struct hosted_bench {
	const char *speedup;
	const char *item;
	unsigned int item_bytes;
	unsigned int item_memory;
	const struct hosted_case *cases;
	unsigned int nr_cases;
	const struct hosted_variant *variants;
	unsigned int nr_variants;
	int fills;
	const struct hosted_limit *limits;
	unsigned int nr_limits;
	unsigned int beside;
	void (*setup)(void *image, unsigned long bytes);
	void (*begin)(const struct hosted_case *c);
	void (*arrange)(const struct hosted_case *c, unsigned long items);
	int (*select)(const char *setting);
	void (*prepare)(const struct hosted_case *c, enum hosted_side side,
			unsigned long items);
	void (*run)(const struct hosted_case *c, enum hosted_side side,
		    unsigned long items);
	void (*collect)(const struct hosted_case *c, unsigned long items);
	unsigned long (*touch)(const void *item);
	int (*check)(struct hosted_check *check);
	int (*fuzz)(const unsigned char *data, unsigned long size,
		    struct hosted_check *check);
	int check_first;
};

extern const struct hosted_bench hosted_bench;

/* The sides of a function or variable that speedup.toml names in "entries". */
#define __HOSTED_SIDES(fn, layout)					\
	{								\
		[HOSTED_BASE]	 = &fn##__base##layout,			\
		[HOSTED_CONTROL] = &fn##__control##layout,		\
		[HOSTED_PATCHED] = &fn##__patched##layout,		\
		HOSTED_POSTED_SIDES(fn, layout)				\
	}

#define HOSTED_ENTRY(fn)						\
	extern typeof(fn) fn##__base0, fn##__control0, fn##__patched0,	\
			  fn##__base1, fn##__control1, fn##__patched1,	\
			  fn##__base2, fn##__control2, fn##__patched2,	\
			  fn##__base3, fn##__control3, fn##__patched3;	\
	HOSTED_DECLARE_POSTED(fn)					\
	static typeof(fn) *const fn##_of[HOSTED_LAYOUTS][HOSTED_SIDES] = { \
		__HOSTED_SIDES(fn, 0), __HOSTED_SIDES(fn, 1),		\
		__HOSTED_SIDES(fn, 2), __HOSTED_SIDES(fn, 3),		\
	}

/* A function that only the patched side has, "extras" in speedup.toml. */
#define HOSTED_EXTRA(type, fn, ...)					\
	typedef type fn##_type(__VA_ARGS__);				\
	extern fn##_type fn##__patched0, fn##__patched1,		\
			 fn##__patched2, fn##__patched3;		\
	static fn##_type *const fn##_of[HOSTED_LAYOUTS] = {		\
		fn##__patched0, fn##__patched1,				\
		fn##__patched2, fn##__patched3,				\
	}

/* A variable of the same kind. */
#define HOSTED_EXTRA_VARIABLES(type, name)				\
	extern type name##__patched0, name##__patched1,			\
		    name##__patched2, name##__patched3;			\
	static type *const name##_of[HOSTED_LAYOUTS] = {		\
		&name##__patched0, &name##__patched1,			\
		&name##__patched2, &name##__patched3,			\
	}

#define HOSTED_EXTRA_VARIABLE(name)	(*name##_of[hosted_layout])

/* Call the function of the current layout. */
#define HOSTED_CALL(fn, side, ...)	fn##_of[hosted_layout][side](__VA_ARGS__)
#define HOSTED_CALL_EXTRA(fn, ...)	fn##_of[hosted_layout](__VA_ARGS__)

/* Most CPUs that a program can have. */
#define HOSTED_CPUS	16

/* kernel/cpus.c */
void hosted_cpu_area(unsigned int cpu, unsigned long offset);
void hosted_cpu_init(unsigned int cpu);
void hosted_cpus_possible(unsigned int nr);
void hosted_cpus_online(unsigned int nr);
void hosted_confine(int confined);

/*
 * host/cpus.c: threads that are CPUs. Kernel code reaches them by work items, and a
 * bench by hosted_on_cpus().
 */
enum hosted_workers {
	HOSTED_WORKERS_RACE,	/* work items run as soon as their CPU gets to them */
	HOSTED_WORKERS_FIRST,	/* the CPU that queues one waits for its end at once */
	HOSTED_WORKERS_NEVER,	/* none ever begins, as when there is no memory for a worker */
};

void hosted_workers(enum hosted_workers when);
unsigned long hosted_works_queued(void);
unsigned long hosted_works_left(void);
void hosted_work_queue(unsigned int cpu, void (*run)(void *work), void *work);
int hosted_work_end(void *work);
void hosted_on_cpus(unsigned int nr, void (*run)(unsigned int cpu, void *data), void *data);

/* kernel/machine.c: what a booted kernel sets up. */
void hosted_machine_init(void);
void hosted_memmap_at(void *memmap, unsigned long pfn);
void *hosted_device_zone(unsigned int nid);
void hosted_early_sections(int early);
void hosted_hole_at(unsigned long pfn);
void hosted_plugged_sections(void);
int hosted_sizeof_page(void);
unsigned long hosted_reschedules(void);
const char *hosted_release(void);

/* kernel/memory.c: memory for kernel code to allocate. */
void hosted_memory_init(unsigned long bytes);
void hosted_allocations_fail(unsigned long after, unsigned long nr);
unsigned long hosted_pages_used(void);
unsigned long hosted_slabs_used(void);
void hosted_flush_takes(unsigned long ns);
unsigned long hosted_flushes(void);

/* The bytes of the last flush, minus 1. */
unsigned long hosted_flushed(void);

/*
 * kernel/machine.c: the calls of kernel code into the rest of the kernel. They are
 * recorded in bytes, which are compared like the image: one byte for the type of
 * each pageblock of the memmap.
 */
void hosted_effects_at(unsigned char *effects, unsigned long bytes);
void hosted_pageblock(const void *page, int type);

/* kernel/fpu.c: enter the kernel from a process that uses the FPU, and leave it. */
void hosted_fpu_init(void);
void hosted_enter(void);
void hosted_exit(void);

/* kernel/alternatives.c */
void hosted_cpu_from_cpuid(void);
int hosted_cpu_force(const char *feature, int on);
int hosted_cpu_has(const char *feature);
int hosted_alternatives_apply(void);
void hosted_alternatives_restore(void);

/* kernel/jump_labels.c */
void hosted_branches_apply(void);
void hosted_keys_restore(void);

/* host/: for both halves. */
void hosted_die(const char *what);
unsigned long hosted_now_ns(void);
int hosted_format(char *text, unsigned long size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
unsigned long hosted_warnings(int expected);
void *hosted_arena(unsigned long bytes);
void *hosted_repeated_arena(unsigned long bytes, unsigned long times);
void hosted_flush(const void *memory, unsigned long bytes);
void hosted_single_step(void (*run)(void *data), void *data, struct hosted_trace *trace);
void hosted_with_poison(void (*run)(void *data), void *data, struct hosted_poison *poison);

#endif /* HOSTED_H */
