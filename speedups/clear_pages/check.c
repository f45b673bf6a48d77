// SPDX-License-Identifier: GPL-2.0-only
/*
 * Clear folios of every order, touched at every kind of page, on several CPUs. All of a
 * folio must be zero, the pages around it must be as before, and streaming stores must be
 * drained.
 */
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>

#include "folios.h"
#include "report.h"

#define MOST_ORDER	11U	/* larger than a batch of a kernel without preemption */
#define STEPPED_ORDER	1U	/* each instruction takes a signal */
#define AROUND		4UL
#define PAGES		((2UL << MOST_ORDER) + AROUND)
#define GUARD		0x5a

static const struct {
	const char *name;
	int rep_good, erms;
} cpus[] = {
	{ "none", 0, 0 }, { "rep_good", 1, 0 }, { "erms", 1, 1 },
};

struct folio_check {
	struct hosted_check *check;
	enum hosted_side side;
	const char *cpu;
	unsigned int order;
	unsigned long at, touched;
};

static int wrong(const struct folio_check *c, const char *what, unsigned long at)
{
	hosted_format(c->check->text, sizeof(c->check->text),
		      "%s folio of order %u, page %lu touched, CPU %s: %s at byte %ld",
		      c->side == HOSTED_BASE ? "base's" : "patched", c->order, c->touched,
		      c->cpu, what, (long)(at - (c->at << PAGE_SHIFT)));
	return -1;
}

static void zero(void *data)
{
	const struct folio_check *c = data;

	folios_zero(c->side, c->at, c->touched);
}

static int check_folio(struct folio_check *c)
{
	unsigned long start = c->at << PAGE_SHIFT, end = start + (PAGE_SIZE << c->order);
	unsigned long from = c->at < AROUND ? 0 : start - AROUND * PAGE_SIZE, i;
	struct hosted_trace trace = {};
	u8 *memory = folios_address(0);

	if (c->check->combinations++ % c->check->stride)
		return 0;
	wrong(c, "", start);
	memset(memory + from, GUARD, end + AROUND * PAGE_SIZE - from);
	folios_make(c->at, c->order);
	if (c->order == STEPPED_ORDER) {
		hosted_single_step(zero, c, &trace);
		c->check->stepped++;
		c->check->streamed += trace.streamed;
		if (trace.undrained) {
			wrong(c, "streaming stores are not drained on return", start);
			hosted_undrained(c->check->text);
		}
	} else {
		zero(c);
	}
	c->check->runs++;
	c->check->bytes += end + AROUND * PAGE_SIZE - from;
	for (i = from; i < end + AROUND * PAGE_SIZE; i++) {
		if (memory[i] != (i >= start && i < end ? 0 : GUARD))
			return wrong(c, i >= start && i < end ? "not cleared" : "overwritten", i);
	}
	return 0;
}

static int check_orders(struct folio_check *c)
{
	unsigned long nr;

	for (c->order = 0; c->order <= MOST_ORDER; c->order++) {
		nr = 1UL << c->order;
		/* At the start of the memory, and after another folio. */
		for (c->at = 0; c->at <= nr; c->at += nr) {
			const unsigned long touched[] = { 0, 1, nr / 3, nr / 2, nr - 1 };
			unsigned int i;

			for (i = 0; i < ARRAY_SIZE(touched); i++) {
				c->touched = touched[i] % nr;
				if (check_folio(c))
					return -1;
			}
		}
	}
	return 0;
}

int clear_pages_check(struct hosted_check *check)
{
	const enum hosted_side sides[] = { HOSTED_BASE, hosted_checked(check) };
	struct folio_check c = { .check = check };
	unsigned int cpu, side;

	folios_map(hosted_arena(PAGES << PAGE_SHIFT), PAGES << PAGE_SHIFT);
	for (cpu = 0; cpu < ARRAY_SIZE(cpus); cpu++) {
		c.cpu = cpus[cpu].name;
		hosted_alternatives_restore();
		hosted_cpu_force("rep_good", cpus[cpu].rep_good);
		hosted_cpu_force("erms", cpus[cpu].erms);
		hosted_alternatives_apply();
		for (side = 0; side < ARRAY_SIZE(sides); side++) {
			c.side = sides[side];
			if (check_orders(&c))
				return -1;
		}
	}
	return 0;
}
