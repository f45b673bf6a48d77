// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run one litmus test many times, with each thread on a CPU of its own.
 *
 * litmus_test.h is generated from the test. Each run has an instance of the memory
 * locations, each in a cache line of its own. Threads start an instance together, and
 * all but the first wait for a random time. Every second one is long, because the stores
 * of an instance with an sfence arrive late.
 *
 * Prints how often the condition held, how often all of it held but the last term, and
 * the number of runs.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define LINE		__attribute__((aligned(64)))
#define INSTANCES	512
#define PATIENCE	2000

struct line {
	unsigned long word[8];
} LINE;

static inline void store(struct line *line, unsigned long value)
{
	asm volatile("movq %1, %0" : "=m" (line->word[0]) : "r" (value) : "memory");
}

static inline unsigned long load(const struct line *line)
{
	unsigned long value;

	asm volatile("movq %1, %0" : "=r" (value) : "m" (line->word[0]) : "memory");
	return value;
}

static inline void locked_add(struct line *line, unsigned long value)
{
	asm volatile("lock addq %1, %0" : "+m" (line->word[0]) : "r" (value) : "memory");
}

static inline void stream(struct line *line, unsigned long value);

#include "litmus_test.h"

static inline void stream(struct line *line, unsigned long value)
{
	unsigned int i;

	for (i = 0; i < STREAMED_WORDS; i++)
		asm volatile("movnti %1, %0" : "=m" (line->word[i]) : "r" (value) : "memory");
}

static struct instance instances[INSTANCES] LINE;
static unsigned long seen, could_be_seen, runs;
static bool stopping;
static double seconds;

static struct {
	unsigned long at LINE;
} arrived[THREADS];

/* Wait until all threads are here. One that waits long may keep another from running. */
static void meet(unsigned int me, unsigned long at)
{
	unsigned int other, spins;

	__atomic_store_n(&arrived[me].at, at, __ATOMIC_SEQ_CST);
	for (other = 0; other < THREADS; other++) {
		for (spins = 0; __atomic_load_n(&arrived[other].at, __ATOMIC_SEQ_CST) < at; spins++) {
			if (spins < PATIENCE)
				__builtin_ia32_pause();
			else
				sched_yield();
		}
	}
}

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec + time.tv_nsec / 1e9;
}

static void count_and_reset(double end)
{
	unsigned int i;

	for (i = 0; i < INSTANCES && runs; i++) {
		seen += shows(&instances[i]);
		could_be_seen += could_show(&instances[i]);
	}
	if (now() >= end) {
		__atomic_store_n(&stopping, true, __ATOMIC_SEQ_CST);
		return;
	}
	runs += INSTANCES;
	memset(instances, 0, sizeof(instances));
	asm volatile("mfence" ::: "memory");
}

static void *run(void *argument)
{
	unsigned int me = (unsigned long)argument, i, wait;
	unsigned long at = 0, random = 88172645463325252UL + me;
	double end = now() + seconds;

	for (;;) {
		meet(me, ++at);
		if (!me)
			count_and_reset(end);
		meet(me, ++at);
		/* Atomic, because gcc 14 would read it before it calls meet(). */
		if (__atomic_load_n(&stopping, __ATOMIC_SEQ_CST))
			return NULL;
		for (i = 0; i < INSTANCES; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			meet(me, ++at);
			wait = random & (random >> 32 & 1 ? 127 : 8191);
			for (wait = me ? wait : 0; wait; wait--)
				asm volatile("" ::: "memory");
			threads[me](&instances[i]);
		}
	}
}

static void fail(const char *what)
{
	fprintf(stderr, "cannot %s\n", what);
	exit(1);
}

int main(int argc, char **argv)
{
	pthread_t started[THREADS];
	cpu_set_t allowed, one;
	unsigned int i, cpu = 0;

	if (argc != 2)
		fail("run: give the seconds");
	seconds = atof(argv[1]);
	sched_getaffinity(0, sizeof(allowed), &allowed);
	for (i = 0; i < THREADS; i++, cpu++) {
		pthread_attr_t attr;

		while (cpu < CPU_SETSIZE && !CPU_ISSET(cpu, &allowed))
			cpu++;
		if (cpu == CPU_SETSIZE)
			fail("find a CPU for each thread");
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		pthread_attr_init(&attr);
		if (pthread_attr_setaffinity_np(&attr, sizeof(one), &one) ||
		    pthread_create(&started[i], &attr, run, (void *)(unsigned long)i))
			fail("start a thread on each CPU");
	}
	for (i = 0; i < THREADS; i++)
		pthread_join(started[i], NULL);
	printf("%lu %lu %lu\n", seen, could_be_seen, runs);
	return 0;
}
