// SPDX-License-Identifier: GPL-2.0-only
/*
 * Simulate machine checks. A page with a poisoned line is made inaccessible, so that
 * the first read of it faults. From there kernel code is followed instruction by
 * instruction, until one is about to read the line. Then this file does what the
 * kernel's machine check handler would do: it continues where the exception tables
 * of the linked objects say, and gives up if they have no entry.
 */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "host.h"

#define LINE		64UL
#define PAGE		4096UL
#define TRAP_FLAG	0x100
#define RSI		6	/* its number in instructions */

/* struct exception_table_entry, and the two types that stand for machine checks */
struct ex_entry {
	int insn, fixup, data;
};

enum { EX_DEFAULT_MCE_SAFE = 14, EX_FAULT_MCE_SAFE = 15, EX_TYPE_MASK = 0xff };

extern const struct ex_entry hosted_ex_start[], hosted_ex_end[];

static struct hosted_poison *poison;
static sigjmp_buf give_up;

/* The end of the string instruction that read the page before a poisoned one. */
static const char *announced;

static char *page_of(const void *at)
{
	return (char *)((unsigned long)at & -PAGE);
}

/*
 * The page before a poisoned one is made inaccessible too if registers may lag
 * into it: the fault there shows which copies come from that page.
 */
static char *page_before(const void *at)
{
	char *page = page_of(at);

	return poison->early && page > (char *)poison->from ? page - PAGE : page;
}

static bool is_left(void)
{
	return !poison->gone_after || poison->taken < poison->gone_after;
}

static void protect(int how)
{
	for (unsigned int i = 0; i < HOSTED_POISONS; i++) {
		char *from = poison->at[i] ? page_before(poison->at[i]) : NULL;

		if (from && mprotect(from, page_of(poison->at[i]) + PAGE - from, how))
			hosted_die("can't change the protection of a poisoned page");
	}
}

/* The first poisoned line that [from, from + bytes) touches, or NULL. */
static const char *line_in(const char *from, unsigned long bytes)
{
	const char *first = NULL;

	for (unsigned int i = 0; i < HOSTED_POISONS; i++) {
		const char *line = (char *)((unsigned long)poison->at[i] & -LINE);

		if (line && from < line + LINE && line < from + bytes &&
		    (!first || line < first))
			first = line;
	}
	return first;
}

static const struct ex_entry *find_entry(greg_t ip)
{
	for (const struct ex_entry *e = hosted_ex_start; e < hosted_ex_end; e++) {
		int type = e->data & EX_TYPE_MASK;

		if ((greg_t)&e->insn + e->insn == ip &&
		    (type == EX_DEFAULT_MCE_SAFE || type == EX_FAULT_MCE_SAFE))
			return e;
	}
	return NULL;
}

static void take(greg_t *regs)
{
	const struct ex_entry *entry = find_entry(regs[REG_RIP]);

	regs[REG_EFL] &= ~TRAP_FLAG;
	if (!entry) {
		poison->fatal = 1;
		siglongjmp(give_up, 1);
	}
	poison->taken++;
	regs[REG_RIP] = (greg_t)&entry->fixup + entry->fixup;
	protect(is_left() ? PROT_NONE : PROT_READ | PROT_WRITE);
}

/**
 * movs_unit - recognise a string instruction that copies
 * @code: an instruction
 *
 * Return: the bytes that one iteration of rep movs copies, or 0 for other instructions.
 */
unsigned long movs_unit(const unsigned char *code)
{
	if (code[0] != 0xf3)
		return 0;
	if (code[1] == 0xa4)
		return 1;
	return code[1] == 0x48 && code[2] == 0xa5 ? 8 : 0;
}

/**
 * is_movdir64b - recognise movdir64b
 * @code: an instruction
 * @to: is set to the register that holds the destination, by its number in instructions
 * @from: is set to that of the source
 *
 * Return: whether it is movdir64b between two of the first eight registers.
 */
bool is_movdir64b(const unsigned char *code, unsigned int *to, unsigned int *from)
{
	static const unsigned char opcode[] = { 0x66, 0x0f, 0x38, 0xf8 };

	if (memcmp(code, opcode, sizeof(opcode)))
		return false;

	*to = code[4] >> 3 & 7;
	*from = code[4] & 7;
	return code[4] >> 6 == 0 && *from != 4 && *from != 5;
}

/*
 * Execute a string instruction in one go, up to the poisoned line. Then move the
 * registers back by poison->early bytes, but never before where they began.
 */
static void move_string(greg_t *regs, unsigned long unit)
{
	const char *from = (char *)regs[REG_RSI], *end = from + regs[REG_RCX] * unit;
	unsigned long turns = (line_in(from, end - from) - from) / unit;

	memcpy((char *)regs[REG_RDI], from, turns * unit);
	if (turns * unit >= poison->early || end == announced)
		turns -= poison->early / unit;
	regs[REG_RSI] += turns * unit;
	regs[REG_RDI] += turns * unit;
	regs[REG_RCX] -= turns;
	announced = NULL;
	take(regs);
}

/*
 * Return the number of bytes that a load reads, and from where; 0 for other
 * instructions. The loops of the kernel's copies use movq disp8(%rsi), %reg,
 * movb (%rsi), %al and movdir64b (%rsi), %rdi.
 */
static unsigned long load_bytes(const unsigned char *code, const greg_t *regs, const char **from)
{
	bool wide = (code[0] & 0xf0) == 0x40;
	unsigned int to, source;

	*from = (char *)regs[REG_RSI];
	if (is_movdir64b(code, &to, &source))
		return source == RSI ? LINE : 0;
	if (wide)
		code++;
	if (code[0] != (wide ? 0x8b : 0x8a) || (code[1] & 7) != 6 || code[1] >> 6 > 1)
		return 0;
	if (code[1] >> 6 == 1)
		*from += (signed char)code[2];
	return wide ? 8 : 1;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code = (void *)regs[REG_RIP];
	const char *from;
	unsigned long bytes;

	if (movs_unit(code)) {
		regs[REG_EFL] &= ~TRAP_FLAG;
		protect(PROT_NONE);
		return;
	}
	bytes = load_bytes(code, regs, &from);
	if (bytes && line_in(from, bytes))
		take(regs);
}

/**
 * poison_met - handle a fault that poison may have caused
 * @context: of the signal
 * @at: the address that was touched
 *
 * Return: whether poison caused the fault, so that kernel code can continue.
 */
bool poison_met(void *context, const char *at)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code = (void *)regs[REG_RIP];
	bool ours = false, before = false;
	unsigned long unit, bytes;
	const char *from;

	for (unsigned int i = 0; poison && i < HOSTED_POISONS; i++) {
		if (!poison->at[i])
			continue;
		ours |= page_of(poison->at[i]) == page_of(at);
		before |= page_before(poison->at[i]) == page_of(at);
	}
	if (!ours && !before)
		return false;

	unit = movs_unit(code);
	if (!ours) {
		announced = unit ? (char *)(regs[REG_RSI] + regs[REG_RCX] * unit) : NULL;
		if (mprotect(page_of(at), PAGE, PROT_READ | PROT_WRITE))
			hosted_die("can't make a page accessible again");
		return true;
	}

	protect(PROT_READ | PROT_WRITE);
	bytes = load_bytes(code, regs, &from);
	if (unit && line_in((char *)regs[REG_RSI], regs[REG_RCX] * unit))
		move_string(regs, unit);
	else if (bytes && line_in(from, bytes))
		take(regs);
	else if (unit)
		hosted_die("a string instruction ends before the poison in its page");
	else
		regs[REG_EFL] |= TRAP_FLAG;
	return true;
}

/**
 * poison_copies - copy in place of an instruction that the CPU does not have
 * @context: of the signal
 * @to: destination
 * @from: source
 * @bytes: how many
 *
 * Return: whether there was no poison, so that kernel code can continue after it.
 */
bool poison_copies(void *context, void *to, const void *from, unsigned long bytes)
{
	if (poison && is_left() && line_in(from, bytes)) {
		take(((ucontext_t *)context)->uc_mcontext.gregs);
		return false;
	}
	if (poison)
		protect(PROT_READ | PROT_WRITE);
	memcpy(to, from, bytes);
	if (poison && is_left())
		protect(PROT_NONE);
	return true;
}

FROM_KERNEL void hosted_with_poison(void (*run)(void *data), void *data,
				    struct hosted_poison *given)
{
	struct sigaction action = {
		.sa_sigaction = on_step,
		.sa_flags = SA_SIGINFO,
	};

	sigaction(SIGTRAP, &action, NULL);
	given->taken = 0;
	given->fatal = 0;
	poison = given;
	announced = NULL;
	protect(PROT_NONE);
	if (!sigsetjmp(give_up, 1))
		run(data);
	protect(PROT_READ | PROT_WRITE);
	asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~(long)TRAP_FLAG) : "memory", "cc");
	poison = NULL;
}
