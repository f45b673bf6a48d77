// SPDX-License-Identifier: GPL-2.0-only
/*
 * main.c's counterpart for libFuzzer. libFuzzer makes inputs, and the bench's fuzz()
 * interprets them, runs patched code and compares the result. The compiler adds a
 * call to each basic block, as for KCOV. These calls increment the counters that
 * libFuzzer reads.
 */
#include <stdio.h>
#include <stdlib.h>

#include "host.h"

enum { COUNTER_BITS = 13 };

static unsigned char counters[1 << COUNTER_BITS]
	__attribute__((section("__libfuzzer_extra_counters")));

/* Calls of patched code, as the bench counts them. */
static unsigned long runs;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);
void hosted_reached(void);

/* libFuzzer saves the input when the program aborts. */
static void keep_input(void)
{
	abort();
}

/* The linker gives the function that each basic block calls this name. */
FROM_KERNEL void hosted_reached(void)
{
	uint64_t pc = (uint64_t)__builtin_return_address(0);

	counters[(uint32_t)(pc * 2654435761U) >> (32 - COUNTER_BITS)]++;
}

static void print_runs(void)
{
	fprintf(stderr, "hosted runs: %lu\n", runs);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	atexit(print_runs);
	hosted_cpu_from_cpuid();
	engine_start();
	die_by(keep_input);
	hosted_layout = 0;
	return 0;
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	struct hosted_check check = { .stride = 1, .side = HOSTED_PATCHED };

	if (hosted_bench.fuzz(data, size, &check) < 0) {
		fprintf(stderr, "hosted: %s\n", check.text);
		keep_input();
	}
	runs += check.runs;
	return 0;
}
