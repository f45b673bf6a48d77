// SPDX-License-Identifier: GPL-2.0-only
/* Faults of kernel code in a process: named, reported, and mostly the end. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"

/* A page for each kernel symbol that nothing here defines (stubs.S). */
extern char hosted_stub_start[], hosted_stub_end[];
extern const char *const hosted_stub_names[];

extern char __executable_start[], etext[];

enum { STATUS_FAULT = 70, STUB_BYTES = 4096 };

static void (*last_words)(void);

/* Whoever wants to see how it ends does so instead of leaving. */
void faults_end_by(void (*end)(void))
{
	last_words = end;
}

FROM_KERNEL void hosted_die(const char *what)
{
	fprintf(stderr, "hosted: %s\n", what);
	if (last_words)
		last_words();
	exit(STATUS_FAULT);
}

/*
 * movdir64b (%rdx), %rax: the one encoding that the kernel has of it. A CPU
 * without the instruction can still show that its users write the right bytes.
 */
static bool emulate(greg_t *regs)
{
	static const unsigned char movdir64b[] = { 0x66, 0x0f, 0x38, 0xf8, 0x02 };

	if (memcmp((void *)regs[REG_RIP], movdir64b, sizeof(movdir64b)))
		return false;

	memcpy((void *)regs[REG_RAX], (void *)regs[REG_RDX], 64);
	regs[REG_RIP] += sizeof(movdir64b);
	return true;
}

/* Nothing interrupts kernel code here. A signal for each is slow, and never timed. */
static bool pass_irq_flag(greg_t *regs)
{
	unsigned char code = *(unsigned char *)regs[REG_RIP];

	if (code != 0xfa && code != 0xfb)	/* cli, sti */
		return false;

	regs[REG_RIP]++;
	return true;
}

static bool warnings_expected;
static unsigned long warnings_seen;

/* WARN() and BUG() look alike: who expects the one has to know that it is not the other. */
static bool pass_warning(greg_t *regs)
{
	static const unsigned char ud2[] = { 0x0f, 0x0b };

	if (!warnings_expected || memcmp((void *)regs[REG_RIP], ud2, sizeof(ud2)))
		return false;

	warnings_seen++;
	regs[REG_RIP] += sizeof(ud2);
	return true;
}

/* From now on, WARN() is passed over or not; returns how many were, and forgets them. */
FROM_KERNEL unsigned long hosted_warnings(int expected)
{
	unsigned long seen = warnings_seen;

	warnings_expected = expected;
	warnings_seen = 0;
	return seen;
}

bool faults_emulates(const char *setting)
{
	unsigned int a = 7, b, c = 0, d;

	asm("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
	return setting && !strcmp(setting, "movdir64b") && !(c & (1u << 28));
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	char *at = info->si_addr;
	char text[256];
	int len;

	if (signal == SIGILL && (emulate(regs) || pass_warning(regs)))
		return;
	if (signal == SIGSEGV && !at && pass_irq_flag(regs))
		return;
	if (signal == SIGSEGV && poison_met(context, at))
		return;

	if (at >= hosted_stub_start && at < hosted_stub_end)
		len = snprintf(text, sizeof(text),
			       "hosted: kernel code at %#llx touched '%s', which nothing here defines\n",
			       regs[REG_RIP],
			       hosted_stub_names[(at - hosted_stub_start) / STUB_BYTES]);
	else if (signal == SIGILL)
		len = snprintf(text, sizeof(text),
			       "hosted: WARN(), BUG() or an unknown instruction in kernel code at %#llx\n",
			       regs[REG_RIP]);
	else
		len = snprintf(text, sizeof(text),
			       "hosted: signal %d in code at %#llx, address %p\n",
			       signal, regs[REG_RIP], (void *)at);

	if (write(STDERR_FILENO, text, len) < 0)
		_exit(STATUS_FAULT + 1);
	if (last_words)
		last_words();
	_exit(STATUS_FAULT);
}

/* For tests that bend a table of functions. */
FROM_KERNEL void hosted_make_writable(const void *constant, unsigned long bytes)
{
	unsigned long from = (unsigned long)constant & -4096UL;
	unsigned long to = (unsigned long)constant + bytes;

	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE))
		hosted_die("can't make a constant writable");
}

void faults_catch(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO,
	};
	unsigned long text = (unsigned long)__executable_start & -4096UL;
	size_t stubs = hosted_stub_end - hosted_stub_start;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);

	if (stubs && mprotect(hosted_stub_start, stubs, PROT_NONE))
		hosted_die("can't wall off the undefined kernel symbols");

	/* Alternatives are patched into the text. */
	if (mprotect((void *)text, (unsigned long)etext - text,
		     PROT_READ | PROT_WRITE | PROT_EXEC))
		hosted_die("can't make the text writable");
}
