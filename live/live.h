/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MMBATCH_LIVE_H
#define _MMBATCH_LIVE_H

/* What a speed-up and the module around it know of each other. */

#include <linux/compiler.h>
#include <linux/ftrace.h>
#include <linux/livepatch.h>
#include <linux/stddef.h>
#include <linux/stringify.h>
#include <linux/types.h>

/*
 * From a function's symbol to the call of the tracer. A function that is local
 * to its file, and called by its name only, has no landing place in between.
 */
#ifdef CONFIG_X86_KERNEL_IBT
#define LIVE_ENTRY_BYTES	4
#else
#define LIVE_ENTRY_BYTES	0
#endif

/* Mitigations write what they need in front of a function that is called. */
#ifdef CONFIG_CALL_PADDING
#define LIVE_PADDING	".skip " __stringify(CONFIG_FUNCTION_PADDING_BYTES) ", 0x90\n"
#else
#define LIVE_PADDING
#endif

/**
 * LIVE_ORIGINAL - make the way to a function that is being replaced
 * @function: its name
 *
 * Defines live_original_@function(), which runs the kernel's own code whether
 * or not it is replaced: it enters behind the place at which calls are led
 * away. Has to be called by its name, since that entry is no landing place for
 * indirect calls. live_check_entry() tells whether the function begins as this
 * takes for granted.
 */
#define LIVE_ORIGINAL(function)						\
	LIVE_ORIGINAL_BEHIND(function, LIVE_ENTRY_BYTES)

/* The same for a function that is local to its file, "local" in live.toml. */
#define LIVE_ORIGINAL_LOCAL(function)	LIVE_ORIGINAL_BEHIND(function, 0)

#define LIVE_ORIGINAL_BEHIND(function, bytes)				\
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
 * Stands behind the last call of a function that replaces one, unless that is of
 * live_original_*().
 *
 * Livepatching looks for the replacement itself on the stacks of tasks, and for
 * nothing else of the module. Without this the compiler may jump to what is
 * called last: a task that sleeps there, with the replacement not on its stack,
 * does not hold up the transition, and wakes up in a module that is gone. The
 * build refuses a replacement that jumps away.
 *
 * The kernel's own function may be jumped to, since it comes back to the caller
 * and not to the module. A task that is preempted on the way there is waited for
 * by ftrace, when it lets go of a function that no other livepatch is on.
 */
#define live_stay()	barrier()

/**
 * struct live_place - where the module expects something in a struct
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
 * struct live_signature - how the module calls a function, or is called for it
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
 * @bytes: from there to the call of the tracer
 */
struct live_entry {
	const char *name;
	const void *address;
	unsigned int bytes;
};

int live_check_places(const struct live_place *places, unsigned int nr);
int live_check_signatures(const struct live_signature *signatures,
			  unsigned int nr);
int live_check_entry(const struct live_entry *entry);

/* What a speed-up does once before it is used, if anything; 0 for success. */
int live_start(void);

#endif /* _MMBATCH_LIVE_H */
