// SPDX-License-Identifier: GPL-2.0-only
/*
 * move_folios MEMORY MIB KIB NODE ACTION...: fill memory on a node, and compare
 * every word of it after each action.
 *
 * MEMORY is "anon", "hugetlb" or a file. Its folios have KIB each. Actions:
 *
 * - to NODE: move the folios there by move_pages(2), with one address for each.
 *   Prints how many arrived, the milliseconds, and how many microseconds too late
 *   a thread on the same CPU woke up at worst.
 * - soften N: take the second page of every Nth folio out of use, which moves
 *   its content.
 * - run COMMAND: run something else that moves memory. It must exit with 0.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define PAGE		4096UL
#define WORDS		(PAGE / sizeof(uint64_t))
#define NAP_NS		1000000L
#define BIND		2	/* MPOL_BIND */
#define MOVE		2	/* MPOL_MF_MOVE */
#define SOFT_OFFLINE	101	/* MADV_SOFT_OFFLINE, which the C library lacks */

static uint64_t *memory;
static unsigned long bytes, folio_bytes, folios;
static void **heads;
static int *nodes, *status;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Differs in each run, so that memory of an earlier run cannot pass for a copy. */
static uint64_t seed;

static uint64_t pattern(unsigned long i)
{
	return (i + seed) * 0x9e3779b97f4a7c15ULL;
}

static void allocate_on(unsigned long node)
{
	unsigned long mask = 1UL << node;

	if (syscall(SYS_set_mempolicy, BIND, &mask, 8 * sizeof(mask)))
		die("set_mempolicy");
}

static void *map(const char *what, unsigned long length)
{
	int flags = MAP_PRIVATE | MAP_ANONYMOUS, fd = -1;
	void *at;

	if (!strcmp(what, "hugetlb")) {
		flags |= MAP_HUGETLB;
		if (folio_bytes > 2UL << 20)
			flags |= 30 << MAP_HUGE_SHIFT;
	} else if (strcmp(what, "anon")) {
		fd = open(what, O_RDWR | O_CREAT, 0600);
		if (fd < 0 || ftruncate(fd, length))
			die(what);
		flags = MAP_SHARED;
	}
	at = mmap(NULL, length, PROT_READ | PROT_WRITE, flags, fd, 0);
	if (at == MAP_FAILED)
		die("mmap");
	return at;
}

static void make(const char *what, unsigned long node)
{
	bool huge = !strcmp(what, "hugetlb");
	char *at = map(what, bytes + (huge ? 0 : folio_bytes));
	unsigned long i;

	/* A file's folios are aligned to its start, which mmap() aligns itself. */
	if (!strcmp(what, "anon"))
		at += -(uintptr_t)at & (folio_bytes - 1);
	memory = (uint64_t *)at;
	if (!huge && madvise(memory, bytes, MADV_HUGEPAGE))
		die("madvise");

	allocate_on(node);
	for (i = 0; i < bytes / sizeof(*memory); i++)
		memory[i] = pattern(i);
	if (syscall(SYS_set_mempolicy, 0, NULL, 0))
		die("set_mempolicy");

	heads = calloc(folios, sizeof(*heads));
	nodes = calloc(folios, sizeof(*nodes));
	status = calloc(folios, sizeof(*status));
	if (!heads || !nodes || !status)
		die("calloc");
	for (i = 0; i < folios; i++)
		heads[i] = at + i * folio_bytes;
}

static void look(const char *after)
{
	unsigned long i;

	for (i = 0; i < bytes / sizeof(*memory); i++) {
		if (memory[i] == pattern(i))
			continue;
		fprintf(stderr, "page %lu of %lu lost its content: %s\n",
			i / WORDS, bytes / PAGE, after);
		exit(1);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ULL + now.tv_nsec;
}

/* Measure how late a thread wakes that sleeps on the CPU that copies. */
static uint64_t latest_ns;
static bool over;

static void *nap(void *unused)
{
	const struct timespec pause = { .tv_nsec = NAP_NS };

	(void)unused;
	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		uint64_t start = now_ns(), late;

		nanosleep(&pause, NULL);
		late = now_ns() - start - NAP_NS;
		if (late > latest_ns)
			latest_ns = late;
	}
	return NULL;
}

static void stay_on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		die("sched_setaffinity");
}

static void move_to(int node)
{
	unsigned long i, arrived = 0;
	pthread_t napper;
	uint64_t start;

	latest_ns = 0;
	over = false;
	if (pthread_create(&napper, NULL, nap, NULL))
		die("pthread_create");
	for (i = 0; i < folios; i++) {
		nodes[i] = node;
		status[i] = -1;
	}

	start = now_ns();
	if (syscall(SYS_move_pages, 0, folios, heads, nodes, status, MOVE) < 0)
		die("move_pages");
	start = now_ns() - start;
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(napper, NULL);

	/* Without nodes, the same call returns where the pages are. */
	if (syscall(SYS_move_pages, 0, folios, heads, NULL, status, 0) < 0)
		die("move_pages");
	for (i = 0; i < folios; i++)
		arrived += status[i] == node;
	printf("%lu %llu %llu\n", arrived, (unsigned long long)start / 1000000,
	       (unsigned long long)latest_ns / 1000);
	fflush(stdout);
	if (arrived != folios) {
		fprintf(stderr, "%lu of %lu folios arrived on node %d\n",
			arrived, folios, node);
		exit(1);
	}
}

static void soften(unsigned long every)
{
	unsigned long i;

	for (i = 0; i < folios; i += every) {
		if (madvise((char *)heads[i] + PAGE, PAGE, SOFT_OFFLINE))
			die("madvise");
	}
}

static void run(const char *command)
{
	int ended = system(command);

	if (!ended)
		return;
	fprintf(stderr, "it ended with %d: %s\n", ended, command);
	exit(1);
}

int main(int argc, char **argv)
{
	int i;

	if (argc < 5 || argc % 2 == 0) {
		fprintf(stderr, "move_folios MEMORY MIB KIB NODE ACTION...\n");
		return 2;
	}

	bytes = strtoul(argv[2], NULL, 0) << 20;
	folio_bytes = strtoul(argv[3], NULL, 0) << 10;
	folios = bytes / folio_bytes;
	seed = now_ns();
	stay_on_cpu(0);
	make(argv[1], strtoul(argv[4], NULL, 0));
	look("filled");

	for (i = 5; i < argc; i += 2) {
		if (!strcmp(argv[i], "to"))
			move_to(atoi(argv[i + 1]));
		else if (!strcmp(argv[i], "soften"))
			soften(strtoul(argv[i + 1], NULL, 0));
		else
			run(argv[i + 1]);
		look(argv[i + 1]);
	}
	return 0;
}
