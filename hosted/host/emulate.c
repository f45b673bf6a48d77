// SPDX-License-Identifier: GPL-2.0-only
/* Skip or execute the instructions of kernel code that fault in a process. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "host.h"

/*
 * Nothing interrupts kernel code here, so cli and sti are skipped. Each costs a
 * signal, but no timed code contains them.
 */
static bool skip_irq_flag(greg_t *regs)
{
	unsigned char code = *(unsigned char *)regs[REG_RIP];

	if (code != 0xfa && code != 0xfb)	/* cli, sti */
		return false;

	regs[REG_RIP]++;
	return true;
}

static bool warnings_expected;
static unsigned long warnings_seen;

/*
 * WARN() and BUG() are the same instruction. A check that expects a WARN() must
 * make sure that it does not run into a BUG().
 */
static bool skip_warning(greg_t *regs)
{
	static const unsigned char ud2[] = { 0x0f, 0x0b };

	if (!warnings_expected || memcmp((void *)regs[REG_RIP], ud2, sizeof(ud2)))
		return false;

	warnings_seen++;
	regs[REG_RIP] += sizeof(ud2);
	return true;
}

/* Choose whether WARN() is skipped from now on. Returns how many were, and resets the count. */
FROM_KERNEL unsigned long hosted_warnings(int expected)
{
	unsigned long seen = warnings_seen;

	warnings_expected = expected;
	warnings_seen = 0;
	return seen;
}

/* Any CPU can check the code of those that have movdir64b. */
static bool copy_line(void *context, greg_t *regs)
{
	static const int numbers[] = {
		REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
	};
	unsigned int to, from;

	if (!is_movdir64b((void *)regs[REG_RIP], &to, &from) || regs[numbers[to]] & 63)
		return false;

	if (poison_copies(context, (void *)regs[numbers[to]], (void *)regs[numbers[from]], 64))
		regs[REG_RIP] += 5;
	return true;
}

/**
 * emulate - skip or execute an instruction that faulted
 * @signal: SIGILL, or SIGSEGV without an address
 * @context: of the signal; its instruction pointer moves to the next instruction
 *
 * Return: whether kernel code can continue after the instruction.
 */
bool emulate(int signal, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;

	if (signal == SIGILL)
		return skip_warning(regs) || copy_line(context, regs);

	return skip_irq_flag(regs);
}
