// SPDX-License-Identifier: GPL-2.0-only
/*
 * CPUs besides the first: threads that run work items and a bench's own functions. A
 * thread starts when something is queued for its CPU for the first time. It is bound to
 * one of the CPUs that this process may use, and to one of its own if there are enough.
 */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "host.h"

#define ITEMS	64
#define PAGE	4096UL
#define NO_CPU	HOSTED_CPUS

extern char hosted_percpu_start[], hosted_percpu_end[];

enum state { FREE, QUEUED, RUNNING };

/* A work item, or a call of hosted_on_cpus(). */
struct item {
	enum state state;
	unsigned int cpu;
	unsigned long number;		/* older ones have smaller numbers */
	void (*run)(void *work);
	void *work;
	struct hosted_trace *trace;	/* of the CPU that queued it, which is followed */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct item items[ITEMS];
static unsigned long nr_queued, nr_works;
static enum hosted_workers workers;
static bool started[HOSTED_CPUS];
static char *pristine, *areas[HOSTED_CPUS];
static cpu_set_t allowed;
static int first;

static unsigned long percpu_bytes(void)
{
	return hosted_percpu_end - hosted_percpu_start;
}

/* The number of a CPU of the host for one of ours: the first one's, and those after it. */
static int host_cpu(unsigned int cpu)
{
	int at = first;

	for (cpu %= CPU_COUNT(&allowed); cpu; cpu--) {
		do
			at = (at + 1) % CPU_SETSIZE;
		while (!CPU_ISSET(at, &allowed));
	}
	return at;
}

static void bind_to(unsigned int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(host_cpu(cpu), &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/*
 * Stay on this CPU, because after a migration the next sample would find nothing in the
 * cache. Keep the initial values of per-CPU variables for the other CPUs.
 */
void cpus_start(void)
{
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		hosted_die("can't ask for the CPUs of this process");
	first = sched_getcpu();
	bind_to(0);
	pristine = malloc(percpu_bytes() + 1);
	if (!pristine)
		hosted_die("no memory for per-CPU variables");
	memcpy(pristine, hosted_percpu_start, percpu_bytes());
}

unsigned int cpus_here(void)
{
	return CPU_COUNT(&allowed);
}

static void make_area(unsigned int cpu)
{
	unsigned long within = (unsigned long)hosted_percpu_start % PAGE;
	char *area = aligned_alloc(PAGE, (within + percpu_bytes() + PAGE) & -PAGE);

	if (!area)
		hosted_die("no memory for per-CPU variables");
	areas[cpu] = area + within;
	memcpy(areas[cpu], pristine, percpu_bytes());
	hosted_cpu_area(cpu, areas[cpu] - hosted_percpu_start);
}

/* Let kernel code find so many CPUs when it prepares itself for them. */
void cpus_make(unsigned int nr)
{
	for (unsigned int cpu = 1; cpu < nr; cpu++)
		make_area(cpu);
	hosted_cpus_possible(nr);
}

static struct item *next_of(unsigned int cpu)
{
	struct item *next = NULL;

	for (struct item *item = items; item < items + ITEMS; item++) {
		if (item->state == QUEUED && item->cpu == cpu &&
		    (!next || item->number < next->number))
			next = item;
	}
	return next;
}

static void run_item(struct item *item)
{
	struct hosted_trace trace = {};

	if (!item->trace) {
		item->run(item->work);
		return;
	}
	memcpy(trace.watch, item->trace->watch, sizeof(trace.watch));
	hosted_single_step(item->run, item->work, &trace);
	pthread_mutex_lock(&lock);
	step_add(item->trace, &trace);
	pthread_mutex_unlock(&lock);
}

/* Make this thread a CPU, which its GS base decides, and let it run what is queued for it. */
static void *be_cpu(void *data)
{
	unsigned int cpu = (unsigned long)data;

	if (!areas[cpu])
		make_area(cpu);
	bind_to(cpu);
	if (syscall(SYS_arch_prctl, ARCH_SET_GS, areas[cpu] - hosted_percpu_start))
		hosted_die("can't set the GS base");
	hosted_cpu_init(cpu);

	pthread_mutex_lock(&lock);
	for (;;) {
		struct item *item = next_of(cpu);

		if (!item) {
			pthread_cond_wait(&changed, &lock);
			continue;
		}
		item->state = RUNNING;
		pthread_mutex_unlock(&lock);
		run_item(item);
		pthread_mutex_lock(&lock);
		item->state = FREE;
		pthread_cond_broadcast(&changed);
	}
	return NULL;
}

static void wait_for(const struct item *item)
{
	unsigned long number = item->number;

	/* Its place may be taken by another one meanwhile. */
	while (item->state != FREE && item->number == number)
		pthread_cond_wait(&changed, &lock);
}

static struct item *queue(unsigned int cpu, void (*run)(void *work), void *work,
			  struct hosted_trace *trace)
{
	struct item *item = items;
	pthread_t thread;

	while (item < items + ITEMS && item->state != FREE)
		item++;
	if (item == items + ITEMS)
		hosted_die("more work is queued than there is space for");
	*item = (struct item){ QUEUED, cpu, ++nr_queued, run, work, trace };
	if (cpu < HOSTED_CPUS && !started[cpu]) {
		if (pthread_create(&thread, NULL, be_cpu, (void *)(unsigned long)cpu))
			hosted_die("can't start a thread");
		started[cpu] = true;
	}
	pthread_cond_broadcast(&changed);
	return item;
}

/* Choose when work items run that are queued from now on. */
FROM_KERNEL void hosted_workers(enum hosted_workers when)
{
	workers = when;
}

/* How many work items have been queued. */
FROM_KERNEL unsigned long hosted_works_queued(void)
{
	return nr_works;
}

/* How many work items are queued or running now. */
FROM_KERNEL unsigned long hosted_works_left(void)
{
	unsigned long left = 0;

	pthread_mutex_lock(&lock);
	for (struct item *item = items; item < items + ITEMS; item++)
		left += item->state != FREE;
	pthread_mutex_unlock(&lock);
	return left;
}

/**
 * hosted_work_queue - let a CPU run a work item
 * @cpu: any but the first; the second runs what may run on any
 * @run: called with @work
 * @work: the work item
 */
FROM_KERNEL void hosted_work_queue(unsigned int cpu, void (*run)(void *work), void *work)
{
	struct item *item;

	if (!cpu || cpu >= HOSTED_CPUS)
		cpu = 1;
	pthread_mutex_lock(&lock);
	nr_works++;
	item = queue(workers == HOSTED_WORKERS_NEVER ? NO_CPU : cpu, run, work, step_trace());
	if (workers == HOSTED_WORKERS_FIRST)
		wait_for(item);
	pthread_mutex_unlock(&lock);
}

/**
 * hosted_work_end - cancel a work item that has not begun, or wait until it ends
 * @work: the work item
 *
 * Return: whether it had not begun.
 */
FROM_KERNEL int hosted_work_end(void *work)
{
	bool cancelled = false;

	pthread_mutex_lock(&lock);
	for (struct item *item = items; item < items + ITEMS; item++) {
		if (item->work != work)
			continue;
		if (item->state == QUEUED) {
			item->state = FREE;
			cancelled = true;
		}
		wait_for(item);
	}
	pthread_mutex_unlock(&lock);
	return cancelled;
}

struct call {
	void (*run)(unsigned int cpu, void *data);
	unsigned int cpu;
	void *data;
};

static void run_call(void *work)
{
	const struct call *call = work;

	call->run(call->cpu, call->data);
}

/**
 * hosted_on_cpus - let some CPUs call a function at the same time
 * @nr: of the first so many CPUs, the current one included
 * @run: called with the number of the CPU and @data
 * @data: for @run
 *
 * Returns when all have returned.
 */
FROM_KERNEL void hosted_on_cpus(unsigned int nr, void (*run)(unsigned int cpu, void *data),
				void *data)
{
	struct item *queued[HOSTED_CPUS];
	struct call calls[HOSTED_CPUS];

	pthread_mutex_lock(&lock);
	for (unsigned int cpu = 1; cpu < nr; cpu++) {
		calls[cpu] = (struct call){ run, cpu, data };
		queued[cpu] = queue(cpu, run_call, &calls[cpu], NULL);
	}
	pthread_mutex_unlock(&lock);

	run(0, data);

	pthread_mutex_lock(&lock);
	for (unsigned int cpu = 1; cpu < nr; cpu++) {
		while (queued[cpu]->state != FREE && queued[cpu]->work == &calls[cpu])
			pthread_cond_wait(&changed, &lock);
	}
	pthread_mutex_unlock(&lock);
}
