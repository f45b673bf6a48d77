// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follow kernel code instruction by instruction, to find what its result does not
 * show. For example, a streaming store that was not drained looks complete to the
 * CPU that executed it.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <ucontext.h>

#include "host.h"

#define TRAP_FLAG	0x100UL
#define DIRECTION_FLAG	0x400UL

/* Of the CPU that is followed. */
static __thread struct hosted_trace *tracing;

/* movnti, movntdq and movdir64b, after the prefixes that they may have. */
static bool is_streaming(const unsigned char *code)
{
	bool wide = code[0] == 0x66;

	if (wide)
		code++;
	if ((code[0] & 0xf0) == 0x40)
		code++;
	if (code[0] != 0x0f)
		return false;

	return code[1] == 0xc3 ||
	       (wide && (code[1] == 0xe7 || (code[1] == 0x38 && code[2] == 0xf8)));
}

/* clflush, clflushopt and clwb, which share an opcode with fences. */
static bool is_flush(const unsigned char *code)
{
	bool wide = code[0] == 0x66;
	unsigned int mod, op;

	/* clflushopt has a padding prefix where it is the alternative of clflush. */
	if (wide || code[0] == 0x3e)
		code++;
	if ((code[0] & 0xf0) == 0x40)
		code++;
	if (code[0] != 0x0f || code[1] != 0xae)
		return false;

	mod = code[2] >> 6;
	op = code[2] >> 3 & 7;
	return mod != 3 && (op == 7 || (wide && op == 6));
}

static void look_out(const unsigned char *code)
{
	for (unsigned int i = 0; i < HOSTED_WATCHES; i++) {
		if (code == tracing->watch[i])
			tracing->visited |= 1UL << i;
	}
}

static bool is_sfence(const unsigned char *code)
{
	return code[0] == 0x0f && code[1] == 0xae && code[2] == 0xf8;
}

/*
 * Execute all iterations of rep movs at once, because a trap after each takes long. Return
 * false if the CPU must execute the instruction.
 */
static bool take_string(greg_t *regs)
{
	const unsigned long unit = movs_unit((void *)regs[REG_RIP]), turns = regs[REG_RCX];
	unsigned long *count = unit == 8 ? &tracing->movsq : &tracing->movsb;
	unsigned long ahead = regs[REG_RDI] - regs[REG_RSI];

	if (!unit)
		return false;
	/* memmove() can't copy backwards, or repeat a pattern as rep movs does. */
	if (regs[REG_EFL] & DIRECTION_FLAG || ahead < turns * unit) {
		*count += turns > 0;
		return false;
	}
	memmove((void *)regs[REG_RDI], (void *)regs[REG_RSI], turns * unit);
	regs[REG_RSI] += turns * unit;
	regs[REG_RDI] += turns * unit;
	regs[REG_RCX] = 0;
	regs[REG_RIP] += unit == 8 ? 3 : 2;
	*count += turns;
	return true;
}

static void on_step(int signal, siginfo_t *info, void *context)
{
	greg_t *regs = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *code;

	/* A thread that was started by the one that is followed. */
	if (!tracing) {
		regs[REG_EFL] &= ~TRAP_FLAG;
		return;
	}

	do {
		code = (void *)regs[REG_RIP];
		tracing->instructions++;
		look_out(code);
	} while (take_string(regs));

	if (is_streaming(code)) {
		tracing->streamed++;
		tracing->undrained++;
	} else if (is_sfence(code)) {
		tracing->undrained = 0;
	} else if (is_flush(code)) {
		tracing->flushed++;
	}
}

FROM_KERNEL void hosted_single_step(void (*run)(void *data), void *data,
				    struct hosted_trace *trace)
{
	struct sigaction action = {
		.sa_sigaction = on_step,
		.sa_flags = SA_SIGINFO,
	};

	tracing = trace;
	sigaction(SIGTRAP, &action, NULL);
	asm volatile("pushfq; orq %0, (%%rsp); popfq" : : "i"(TRAP_FLAG) : "memory", "cc");
	run(data);
	asm volatile("pushfq; andq %0, (%%rsp); popfq" : : "i"(~TRAP_FLAG) : "memory", "cc");
	tracing = NULL;
}

/* The trace of this CPU, if it is followed. A CPU that works for it is followed, too. */
struct hosted_trace *step_trace(void)
{
	return tracing;
}

/* Add what another CPU did. It drains its own stores, since no other CPU can. */
void step_add(struct hosted_trace *sum, const struct hosted_trace *trace)
{
	sum->visited |= trace->visited;
	sum->movsb += trace->movsb;
	sum->movsq += trace->movsq;
	sum->instructions += trace->instructions;
	sum->streamed += trace->streamed;
	sum->elsewhere += trace->undrained + trace->elsewhere;
	sum->flushed += trace->flushed;
}
