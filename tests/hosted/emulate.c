// SPDX-License-Identifier: GPL-2.0-only
/*
 * Let hosted/host/emulate.c execute movdir64b, as on a CPU that does not have it. Prints
 * what is wrong.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host.h"

enum { PAGE = 4096, LINE = 64 };

/* movdir64b (%rsi), %rdi, which has an entry in the exception table, and (%rdx), %rax. */
extern const unsigned char string_form[], other_form[], fixup[];

asm(".pushsection .data\n"
    "string_form: .byte 0x66, 0x0f, 0x38, 0xf8, 0x3e\n"
    "other_form: .byte 0x66, 0x0f, 0x38, 0xf8, 0x02\n"
    "fixup: .byte 0x90, 0, 0, 0, 0\n"
    ".balign 4\n"
    ".globl hosted_ex_start, hosted_ex_end\n"
    "hosted_ex_start: .long string_form - ., fixup - ., 14\n"
    "hosted_ex_end:\n"
    ".popsection\n");

void hosted_die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

static void expect(bool good, const char *what)
{
	if (!good) {
		puts(what);
		exit(1);
	}
}

struct copy {
	ucontext_t context;
	bool went_on;
};

static unsigned char *from, *to;

static greg_t *prepare(struct copy *copy, const unsigned char *code)
{
	greg_t *regs = copy->context.uc_mcontext.gregs;

	memset(copy, 0, sizeof(*copy));
	memset(to, 0, PAGE);
	regs[REG_RIP] = (greg_t)code;
	regs[code == other_form ? REG_RDX : REG_RSI] = (greg_t)(from + 3 * LINE);
	regs[code == other_form ? REG_RAX : REG_RDI] = (greg_t)(to + 5 * LINE);
	return regs;
}

static void execute(void *data)
{
	struct copy *copy = data;

	copy->went_on = emulate(SIGILL, &copy->context);
}

static bool copied(void)
{
	for (unsigned int i = 0; i < PAGE; i++) {
		bool inside = i / LINE == 5;

		if (to[i] != (inside ? from[3 * LINE + i % LINE] : 0))
			return false;
	}
	return true;
}

static bool nothing_copied(void)
{
	return !to[0] && !memcmp(to, to + 1, PAGE - 1);
}

int main(void)
{
	struct hosted_poison poison = {};
	struct copy copy;
	greg_t *regs;

	from = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = from + PAGE;
	for (unsigned int i = 0; i < PAGE; i++)
		from[i] = i % 251 + 1;
	poison.from = from;

	regs = prepare(&copy, string_form);
	execute(&copy);
	expect(copy.went_on && copied(), "a line is not copied");
	expect(regs[REG_RIP] == (greg_t)string_form + 5, "the instruction is not passed");

	regs = prepare(&copy, other_form);
	execute(&copy);
	expect(copy.went_on && copied(), "a line is not copied between other registers");

	regs = prepare(&copy, string_form);
	regs[REG_RDI] += 8;
	execute(&copy);
	expect(!copy.went_on && nothing_copied(), "a destination that is not aligned is accepted");

	regs = prepare(&copy, fixup);
	execute(&copy);
	expect(!copy.went_on && nothing_copied(), "another instruction is executed");

	/* Of the same page, another line. */
	regs = prepare(&copy, string_form);
	poison.at[0] = (char *)from + 4 * LINE;
	hosted_with_poison(execute, &copy, &poison);
	expect(copied() && !poison.taken, "poison next to a line stops its copy");

	regs = prepare(&copy, string_form);
	poison.at[0] = (char *)from + 4 * LINE - 1;
	hosted_with_poison(execute, &copy, &poison);
	expect(poison.taken == 1 && nothing_copied(), "poison does not stop a copy");
	expect(regs[REG_RIP] == (greg_t)fixup, "after poison, it does not go on at the fixup");

	regs = prepare(&copy, other_form);
	hosted_with_poison(execute, &copy, &poison);
	expect(poison.fatal && nothing_copied(), "a machine check without an entry is survived");
	return 0;
}
