// SPDX-License-Identifier: GPL-2.0-only
/* Faults of kernel code: emulated, survived by its own tables, or reported by name. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include "host.h"
#include "report.h"

/* A page for each kernel symbol that is not defined in this program (stubs.S). */
extern char hosted_stub_start[], hosted_stub_end[];
extern const char *const hosted_stub_names[];

enum { STUB_BYTES = 4096 };

/* The undefined symbol that an address belongs to; NULL if it belongs to none. */
static const char *undefined(const char *at)
{
	return at < hosted_stub_start || at >= hosted_stub_end ? NULL :
	       hosted_stub_names[(at - hosted_stub_start) / STUB_BYTES];
}

/* The code at fault: not an undefined function, but the call of it. */
static unsigned long long place(const greg_t *regs, const char *at)
{
	bool is_called = undefined(at) && (char *)regs[REG_RIP] == at;

	return is_called ? *(unsigned long *)regs[REG_RSP] - 1 : (unsigned long)regs[REG_RIP];
}

/* Most places that are told, each of them once, and what is told without one. */
#define PLACES	32
#define WRONG		(-1ULL)
#define UNDRAINED	(-2ULL)
#define BACKED		(-3ULL)

static const struct hosted_check *checking;

/* What was told: places of code, and what has none. In a check that goes on, children share it. */
static unsigned long long own_places[PLACES], *places = own_places;

/* Each place is told once, with the first input that came there. */
static bool was_told(unsigned long long ip)
{
	for (unsigned int i = 0; i < PLACES; i++) {
		if (places[i] == ip)
			return true;
		if (!places[i]) {
			places[i] = ip;
			return false;
		}
	}
	return true;
}

/*
 * A check goes on after an input with which posted code dies. HOSTED_TABLES then has the
 * addresses of the tables of functions that HOSTED_ENTRY() makes. Their places for the
 * posted side get addresses that nobody may call, so each call comes here first. The
 * first call of an input makes a child, which goes on with posted code until the next
 * input. If it died, base's functions do the work of this input, and of no other.
 */
#define GATES	1024
#define INPUT_S	120	/* an input that takes longer hangs: a child has no other CPUs */

static struct gate {
	unsigned long posted, base;
} gates[GATES];
static unsigned int nr_gates;
static char *gate_page;
static unsigned long input, died;
static bool is_child, is_base;

static void make_gates(enum hosted_side side, char *tables)
{
	const int prot = PROT_READ | PROT_WRITE;

	/* Readable, because who follows instructions looks at them, and not executable. */
	gate_page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	places = mmap(NULL, 4096, prot, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (gate_page == MAP_FAILED || places == MAP_FAILED)
		hosted_die("no memory for a check that goes on");
	for (; *tables; tables += *tables == ',') {
		unsigned long (*table)[HOSTED_SIDES] = (void *)strtoul(tables, &tables, 16);
		void *page = (void *)((unsigned long)table & -4096UL);

		if (!table || mprotect(page, 8192, prot) || nr_gates > GATES - HOSTED_LAYOUTS)
			hosted_die("HOSTED_TABLES has no tables of functions");
		for (unsigned int i = 0; i < HOSTED_LAYOUTS; i++) {
			gates[nr_gates].base = table[i][HOSTED_BASE];
			gates[nr_gates].posted = table[i][side];
			table[i][side] = (unsigned long)gate_page + nr_gates++;
		}
	}
}

/* Name the input of a check in the messages. */
void faults_in_check(const struct hosted_check *check)
{
	char *tables = getenv("HOSTED_TABLES");

	checking = check;
	if (tables)
		make_gates(check->side, tables);
}

void faults_end_check(bool good)
{
	if (is_child && !good && !was_told(WRONG))
		fprintf(stderr, "hosted: %s\n", checking->text);
	if (is_child)
		_exit(!good);
	if (died)
		fprintf(stderr, "hosted: note: posted code fails with %lu of %lu inputs\n", died,
			checking->combinations);
	checking = NULL;
}

/* Say which code ran, or with which input, in the message about a fault. */
static int where(char *text, size_t size)
{
	const char *row = row_running();

	if (checking)
		snprintf(text, size, ", combination %lu%s%s", checking->combinations,
			 *checking->text ? ": " : "", checking->text);
	else
		snprintf(text, size, row ? ", while '%s' ran" : "", row);
	strcat(text, "\n");
	return strlen(text);
}

static void try_input(void)
{
	char text[1024];
	int status, len;
	pid_t child;

	input = checking->combinations + 1;
	is_base = false;
	child = fork();
	if (child < 0)
		hosted_die("can't make a process for an input");
	is_child = !child;
	if (is_child) {
		alarm(INPUT_S);
		return;
	}
	if (waitpid(child, &status, 0) != child)
		hosted_die("can't wait for the process of an input");
	is_base = status;
	died += is_base;
	if (WIFSIGNALED(status) && !was_told(WTERMSIG(status))) {
		len = snprintf(text, 256, "hosted: posted code ends by signal %d",
			       WTERMSIG(status));
		len += where(text + len, sizeof(text) - len - 1);
		if (write(STDERR_FILENO, text, len) < 0)
			hosted_die("can't report a signal");
	}
}

static bool gated(greg_t *regs, const char *at)
{
	unsigned long i = at - gate_page;

	if (i >= nr_gates || (char *)regs[REG_RIP] != at)
		return false;
	if (input != checking->combinations + 1) {
		if (is_child)
			_exit(0);
		try_input();
	}
	regs[REG_RIP] = is_base ? gates[i].base : gates[i].posted;
	return true;
}

FROM_KERNEL void hosted_undrained(const char *input)
{
	if (!was_told(UNDRAINED))
		fprintf(stderr, "hosted: undrained: %s\n", input);
}

static void report(int signal, const char *at, unsigned long long ip)
{
	static const char *const names[] = { "an unknown instruction", "BUG()", "WARN()" };
	char text[1024];
	int len;

	if (is_child && was_told(ip))
		_exit(EXIT_FAILURE);
	if (undefined(at))
		len = snprintf(text, 256,
			       "hosted: kernel code at %#llx touched '%s', which is not defined",
			       ip, undefined(at));
	else if (signal == SIGILL)
		len = snprintf(text, 256, "hosted: %s in kernel code at %#llx",
			       names[hosted_bug(ip)], ip);
	else
		len = snprintf(text, 256, "hosted: signal %d in code at %#llx, address %p",
			       signal, ip, (void *)at);

	len += where(text + len, sizeof(text) - len - 1);
	die_in_signal(text, len);
}

/* The kernel goes on after a WARN(), so a check or a case does too. A fuzzer ends here. */
static bool warned(greg_t *regs, const char *at)
{
	unsigned long long ip = place(regs, at);
	char text[1024];
	int len;

	if (!checking && !row_running())
		return false;
	if ((long long)ip != regs[REG_RIP] && !strcmp(undefined(at), "__SCT__WARN_trap")) {
		regs[REG_RIP] = ip + 1;
		regs[REG_RSP] += 8;
	} else if (hosted_bug(ip) == HOSTED_WARN) {
		regs[REG_RIP] += 2;
	} else {
		return false;
	}

	if (was_told(ip))
		return true;
	len = snprintf(text, 128, "hosted: WARN() in kernel code at %#llx", ip);
	len += where(text + len, sizeof(text) - len - 1);
	if (write(STDERR_FILENO, text, len) < 0)
		hosted_die("can't report a WARN()");
	return true;
}

static bool backed(const char *at)
{
	static const char text[] =
		"hosted: note: posted code reads struct pages, which are as an allocator leaves them\n";

	if (!HOSTED_NR_POSTED || !hosted_is_memmap((unsigned long)at) || !memmap_back(at))
		return false;
	return was_told(BACKED) || write(STDERR_FILENO, text, sizeof(text) - 1) > 0;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	char *at = info->si_addr;

	if (signal == SIGSEGV && gated(regs, at))
		return;
	if ((signal == SIGILL || (signal == SIGSEGV && !at)) && emulate(signal, context))
		return;
	if (signal == SIGSEGV && poison_met(context, at))
		return;
	if (warned(regs, at))
		return;
	if (signal == SIGSEGV && info->si_code == SEGV_MAPERR && backed(at))
		return;

	report(signal, at, place(regs, at));
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
