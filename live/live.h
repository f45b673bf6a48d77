/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MMBATCH_LIVE_H
#define _MMBATCH_LIVE_H

/* The interface between a speed-up and the module around it. */

#include <linux/compiler.h>
#include <linux/ftrace.h>
#include <linux/livepatch.h>
#include <linux/percpu.h>
#include <linux/sched/clock.h>
#include <linux/stddef.h>
#include <linux/stringify.h>
#include <linux/types.h>

/*
 * Bytes from a function's symbol to its ftrace call: those of ENDBR. GCC omits
 * ENDBR for a static function that is never called through a pointer.
 */
#ifdef CONFIG_X86_KERNEL_IBT
#define LIVE_ENTRY_BYTES	4
#else
#define LIVE_ENTRY_BYTES	0
#endif

/* Mitigations write code before the entry of every function that is called. */
#ifdef CONFIG_CALL_PADDING
#define LIVE_PADDING	".skip " __stringify(CONFIG_FUNCTION_PADDING_BYTES) ", 0x90\n"
#else
#define LIVE_PADDING
#endif

/**
 * LIVE_ORIGINAL - define a way to call a function that is being replaced
 * @function: its name
 *
 * Defines live_original_@function(), which runs the kernel's own code even while
 * it is replaced: it enters after the ftrace call, which redirects callers. Call
 * it by name only, because it has no ENDBR for indirect calls.
 * live_check_entry() checks that the function begins as this assumes.
 */
#define LIVE_ORIGINAL(function)						\
	LIVE_ORIGINAL_AFTER(function, LIVE_ENTRY_BYTES)

/* The same for a static function, which is "local" in live.toml. */
#define LIVE_ORIGINAL_LOCAL(function)	LIVE_ORIGINAL_AFTER(function, 0)

#define LIVE_ORIGINAL_AFTER(function, bytes)				\
	asm(".pushsection .text, \"ax\"\n"				\
	    ".p2align 4\n"						\
	    LIVE_PADDING						\
	    ".type live_original_" #function ", @function\n"		\
	    "live_original_" #function ":\n\t"				\
	    "jmp " #function " + " __stringify(bytes)		\
	    " + " __stringify(MCOUNT_INSN_SIZE) "\n"			\
	    ".size live_original_" #function				\
	    ", . - live_original_" #function "\n"			\
	    ".popsection")

/*
 * Put this after the last call of a replacement, unless that is a call of
 * live_original_*().
 *
 * Livepatching looks for the replacement itself on the stacks of tasks, and for
 * nothing else of the module. Without this, the compiler may turn the last call
 * into a jump. A task that sleeps in the called function then does not have the
 * replacement on its stack. So the transition does not wait for it, and it wakes
 * up in a module that has been freed. The build refuses such a replacement.
 *
 * A jump to the kernel's own function is safe, because it returns to the caller
 * and not to the module. A task may be preempted on its way there. ftrace waits
 * for it when it releases a function that no other livepatch replaces.
 */
#define live_stay()	barrier()

/**
 * struct live_place - the layout that the module expects of a struct or member
 * @type: name of the struct
 * @member: name of the member, or NULL for the struct as a whole
 * @offset: of the member, in bytes
 * @size: of the member or the struct, in bytes
 */
struct live_place {
	const char *type;
	const char *member;
	u32 offset;
	u32 size;
};

#define LIVE_MAX_PARAMS	10

/**
 * struct live_signature - the types of a function that is called or replaced
 * @name: of the function
 * @returns: the type of its result, written as in @params; "void" for none
 * @params: "struct NAME *", or the size of anything else in bytes, "8"
 */
struct live_signature {
	const char *name;
	const char *returns;
	const char *params[LIVE_MAX_PARAMS];
};

/**
 * struct live_entry - a function that is replaced
 * @name: of the function
 * @address: of the kernel's own
 * @bytes: from there to its ftrace call
 */
struct live_entry {
	const char *name;
	const void *address;
	unsigned int bytes;
};

/* What can be said of a call of a replacement. */
#define LIVE_DONE	"done"		/* the speed-up handled it */
#define LIVE_LEFT	"left"		/* the kernel's own code handled it */
#define LIVE_PASSED	"passed"	/* it was a proof before use, which passed */
#define LIVE_FAILED	"failed"	/* the same, which failed */

/**
 * struct live_count - what calls are counted under
 * @function: the kernel's function
 * @outcome: one of those above
 * @reason: why the kernel handled it; "" for all other outcomes
 */
struct live_count {
	const char *function;
	const char *outcome;
	const char *reason;
};

#define LIVE_MAX_COUNTS	16

struct live_counter {
	unsigned long calls;
	unsigned long pages;
	u64 ns;
};

DECLARE_PER_CPU(struct live_counter [LIVE_MAX_COUNTS], live_counters);

/* Every speed-up defines these. The parameter "counts" of the module shows them. */
extern const struct live_count live_counts[];
extern const unsigned int live_nr_counts;

/**
 * live_counted - count a call
 * @which: index in live_counts[]
 * @pages: how many pages it was for
 *
 * This takes two instructions, and no other CPU writes the same cache line.
 */
static __always_inline void live_counted(unsigned int which, unsigned long pages)
{
	this_cpu_inc(live_counters[which].calls);
	this_cpu_add(live_counters[which].pages, pages);
}

/**
 * live_timed - add up how long the calls of a count take
 * @which: index in live_counts[]
 * @started: local_clock() at the start of this call
 */
static __always_inline void live_timed(unsigned int which, u64 started)
{
	this_cpu_add(live_counters[which].ns, local_clock() - started);
}

int live_check_places(const struct live_place *places, unsigned int nr);
int live_check_signatures(const struct live_signature *signatures,
			  unsigned int nr);
int live_check_entry(const struct live_entry *entry);

/* A speed-up may define this. It runs before the patch is enabled, and returns 0 for success. */
int live_start(void);

#endif /* _MMBATCH_LIVE_H */
