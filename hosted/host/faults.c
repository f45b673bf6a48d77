// SPDX-License-Identifier: GPL-2.0-only
/* Faults of kernel code: emulated, survived by its own tables, or reported by name. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"
#include "report.h"

/* A page for each kernel symbol that is not defined in this program (stubs.S). */
extern char hosted_stub_start[], hosted_stub_end[];
extern const char *const hosted_stub_names[];

enum { STUB_BYTES = 4096 };

/* Most places of WARN() that are told, each of them once. */
#define WARNS	32

static const struct hosted_check *checking;

/* Name the input of a check in the messages. */
void faults_in_check(const struct hosted_check *check)
{
	checking = check;
}

/* Say which code ran, or with which input, in the message about a fault. */
static int where(char *text, size_t size)
{
	const char *row = row_running();

	if (checking)
		snprintf(text, size, ", combination %lu: %s", checking->combinations,
			 checking->text);
	else
		snprintf(text, size, row ? ", while '%s' ran" : "", row);
	strcat(text, "\n");
	return strlen(text);
}

FROM_KERNEL void hosted_undrained(const char *input)
{
	static bool told;

	if (!told)
		fprintf(stderr, "hosted: undrained: %s\n", input);
	told = true;
}

static void report(int signal, const char *at, unsigned long long ip)
{
	char text[1024];
	int len;

	if (at >= hosted_stub_start && at < hosted_stub_end)
		len = snprintf(text, 256,
			       "hosted: kernel code at %#llx touched '%s', which is not defined",
			       ip, hosted_stub_names[(at - hosted_stub_start) / STUB_BYTES]);
	else if (signal == SIGILL)
		len = snprintf(text, 256, "hosted: %s in kernel code at %#llx", hosted_is_warn(ip) ?
			       "WARN()" : "BUG() or an unknown instruction", ip);
	else
		len = snprintf(text, 256, "hosted: signal %d in code at %#llx, address %p",
			       signal, ip, (void *)at);

	len += where(text + len, sizeof(text) - len - 1);
	die_in_signal(text, len);
}

/* The kernel goes on after a WARN(), so a check or a case does too. A fuzzer ends here. */
static bool warned(greg_t *regs, const char *at)
{
	static unsigned long long seen[WARNS];
	unsigned long long ip = regs[REG_RIP];
	char text[1024];
	int len;

	if (!checking && !row_running())
		return false;
	if (at >= hosted_stub_start && at < hosted_stub_end && (long long)ip == (long long)at &&
	    !strcmp(hosted_stub_names[(at - hosted_stub_start) / STUB_BYTES], "__SCT__WARN_trap")) {
		ip = *(unsigned long *)regs[REG_RSP] - 1;	/* in the call */
		regs[REG_RIP] = ip + 1;
		regs[REG_RSP] += 8;
	} else if (hosted_is_warn(ip)) {
		regs[REG_RIP] += 2;
	} else {
		return false;
	}

	for (unsigned int i = 0; i < WARNS && seen[i] != ip; i++) {
		if (seen[i])
			continue;
		seen[i] = ip;
		len = snprintf(text, 128, "hosted: WARN() in kernel code at %#llx", ip);
		len += where(text + len, sizeof(text) - len - 1);
		if (write(STDERR_FILENO, text, len) < 0)
			hosted_die("can't report a WARN()");
		break;
	}
	return true;
}

/* Give posted code that reads struct pages those of single, unused pages. */
static bool backed(const char *at)
{
	static const char text[] =
		"hosted: note: posted code reads struct pages, which are of single pages here\n";
	const unsigned long sizes[] = { 2UL << 20, 4096 };
	static bool told;

	if (!HOSTED_NR_POSTED || !hosted_is_memmap((unsigned long)at))
		return false;
	for (unsigned int i = 0; i < 2; i++) {
		void *start = (void *)((unsigned long)at & -sizes[i]);

		if (mmap(start, sizes[i], PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS |
			 MAP_FIXED_NOREPLACE, -1, 0) != start)
			continue;
		if (!told && write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
			return false;
		told = true;
		return true;
	}
	return false;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	char *at = info->si_addr;

	if ((signal == SIGILL || (signal == SIGSEGV && !at)) && emulate(signal, context))
		return;
	if (signal == SIGSEGV && poison_met(context, at))
		return;
	if (warned(regs, at))
		return;
	if (signal == SIGSEGV && info->si_code == SEGV_MAPERR && backed(at))
		return;

	report(signal, at, regs[REG_RIP]);
}

void faults_catch(void)
{
	struct sigaction action = {
		.sa_sigaction = on_fault,
		.sa_flags = SA_SIGINFO,
	};
	size_t stubs = hosted_stub_end - hosted_stub_start;

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	sigaction(SIGILL, &action, NULL);

	if (stubs && mprotect(hosted_stub_start, stubs, PROT_NONE))
		hosted_die("can't protect the pages of undefined kernel symbols");
}
