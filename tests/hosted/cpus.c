// SPDX-License-Identifier: GPL-2.0-only
/*
 * Use hosted/host/cpus.c as kernel code does, built with ThreadSanitizer: a job on the
 * stack is divided among CPUs, and is gone when no work item of it is left.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

enum { CPUS = 4, CHUNKS = 64, ROUNDS = 500 };

char hosted_percpu_start[4096];
asm(".globl hosted_percpu_end\n.set hosted_percpu_end, hosted_percpu_start + 4096");
const struct hosted_bench hosted_bench;

void hosted_die(const char *what)
{
	fprintf(stderr, "%s\n", what);
	exit(2);
}

void hosted_cpu_area(unsigned int cpu, unsigned long offset)
{
}

void hosted_cpu_init(unsigned int cpu)
{
}

void hosted_cpus_possible(unsigned int nr)
{
}

void hosted_single_step(void (*run)(void *data), void *data, struct hosted_trace *trace)
{
}

struct hosted_trace *step_trace(void)
{
	return NULL;
}

void step_add(struct hosted_trace *sum, const struct hosted_trace *trace)
{
}

struct job {
	unsigned int next;
	unsigned long done[CHUNKS];
};

struct work {
	struct job *job;
};

/* All sleep over their first chunk, so that others begin meanwhile, on any machine. */
static void take_part(struct job *job)
{
	bool first = true;
	unsigned int chunk;

	while ((chunk = __atomic_fetch_add(&job->next, 1, __ATOMIC_RELAXED)) < CHUNKS) {
		if (first)
			usleep(20);
		first = false;
		job->done[chunk]++;
	}
}

static void help(void *data)
{
	struct work *work = data;

	take_part(work->job);
}

static bool divide(void)
{
	struct work works[CPUS - 1];
	struct job job = {};

	for (unsigned int i = 0; i < CPUS - 1; i++) {
		works[i].job = &job;
		hosted_work_queue(1 + i, help, &works[i]);
	}
	take_part(&job);
	for (unsigned int i = 0; i < CPUS - 1; i++)
		hosted_work_end(&works[i]);
	for (unsigned int i = 0; i < CHUNKS; i++) {
		if (job.done[i] != 1)
			return false;
	}
	return !hosted_works_left();
}

static void count(unsigned int cpu, void *data)
{
	unsigned long *counts = data;

	counts[cpu]++;
}

int main(void)
{
	unsigned long counts[CPUS] = {};

	cpus_start();
	cpus_make(CPUS);
	for (unsigned int i = 0; i < ROUNDS; i++) {
		hosted_workers(i % 3);
		if (!divide())
			hosted_die("a chunk was not done once, or a work item is left");
		hosted_on_cpus(CPUS, count, counts);
	}
	for (unsigned int cpu = 0; cpu < CPUS; cpu++) {
		if (counts[cpu] != ROUNDS)
			hosted_die("a CPU did not make every call");
	}
	return 0;
}
