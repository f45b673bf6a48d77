// SPDX-License-Identifier: GPL-2.0-only
/* Faults of kernel code: emulated, survived by its own tables, or reported by name. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host.h"

/* A page for each kernel symbol that is not defined in this program (stubs.S). */
extern char hosted_stub_start[], hosted_stub_end[];
extern const char *const hosted_stub_names[];

enum { STUB_BYTES = 4096 };

static void report(int signal, const char *at, unsigned long long ip)
{
	const char *row = row_running();
	char text[256], where[96] = "";
	int len;

	if (row)
		snprintf(where, sizeof(where), ", while '%s' ran", row);
	if (at >= hosted_stub_start && at < hosted_stub_end)
		len = snprintf(text, sizeof(text),
			       "hosted: kernel code at %#llx touched '%s', which is not defined%s\n", ip,
			       hosted_stub_names[(at - hosted_stub_start) / STUB_BYTES], where);
	else if (signal == SIGILL)
		len = snprintf(text, sizeof(text),
			       "hosted: WARN(), BUG() or an unknown instruction in kernel code at %#llx%s\n",
			       ip, where);
	else
		len = snprintf(text, sizeof(text),
			       "hosted: signal %d in code at %#llx, address %p%s\n",
			       signal, ip, (void *)at, where);

	die_in_signal(text, len);
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	char *at = info->si_addr;

	if ((signal == SIGILL || (signal == SIGSEGV && !at)) && emulate(signal, context))
		return;
	if (signal == SIGSEGV && poison_met(context, at))
		return;

	report(signal, at, ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP]);
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
