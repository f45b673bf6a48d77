// SPDX-License-Identifier: GPL-2.0-only
/*
 * Call mm at random until this process is stopped, and compare every word of memory that
 * is looked at with what it must be. The sequence of calls depends on the seed alone, but
 * for what the kernel refuses.
 *
 * usage: random_calls SEED [CALLS]
 *
 * Every call may fail, for instance for lack of memory. Only contents are judged. Prints
 * how many calls of each kind were made and how many of them succeeded.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof(*(array)))
#define PAGE 4096UL
#define WORDS (PAGE / sizeof(uint64_t))
#define HUGE (2UL << 20)
#define AREAS 12
#define MOST_PAGES 1536		/* three huge pages */
#define AT_ONCE 64		/* pages that are written or compared at once */
#define POPULATE_WRITE 23
#define COLLAPSE 25
#define MPOL_PREFERRED 1
#define MPOL_MOVE 2

/* Page i must hold tag[i] + k in word k, or only zeros if the tag is 0. */
struct area {
	char *start;
	size_t npages;
	bool shared;
	bool huge;		/* of hugetlb */
	uint64_t tag[MOST_PAGES];
};

static struct area areas[AREAS];
static uint64_t state, last_tag;
static volatile sig_atomic_t stopped;

static void stop(int number)
{
	(void)number;
	stopped = 1;
}

/* xorshift64*; below @n */
static uint64_t below(uint64_t n)
{
	state ^= state >> 12;
	state ^= state << 25;
	state ^= state >> 27;
	return (state * 0x2545f4914f6cdd1dUL >> 16) % n;
}

static void differs(const char *where, size_t page, size_t word, uint64_t got, uint64_t expected)
{
	fprintf(stderr,
		"random_calls: %s: page %zu, word %zu: got 0x%" PRIx64 ", expected 0x%" PRIx64 "\n",
		where, page, word, got, expected);
	exit(1);
}

/*
 * Let QEMU turn to the next CPU, since one thread emulates all of them. A CPU that waits
 * for each other one, as at each change of the kernel's code, waits 100 ms otherwise.
 */
static void turn(void)
{
	__builtin_ia32_pause();
}

static void compare(const char *where, const void *at, size_t page, uint64_t tag)
{
	const volatile uint64_t *words = at;

	turn();

	for (size_t k = 0; k < WORDS; k++) {
		uint64_t expected = tag ? tag + k : 0, got = words[k];

		if (got != expected)
			differs(where, page, k, got, expected);
	}
}

static void compare_pages(const char *where, const struct area *area, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++)
		compare(where, area->start + i * PAGE, i, area->tag[i]);
}

static void write_pages(struct area *area, size_t first, size_t n)
{
	for (size_t i = first; i < first + n; i++) {
		uint64_t *words = (uint64_t *)(area->start + i * PAGE);

		turn();
		last_tag += 1UL << 20;
		area->tag[i] = last_tag;
		for (size_t k = 0; k < WORDS; k++)
			words[k] = last_tag + k;
	}
}

/* Choose a range of at most @most pages, and return its length. */
static size_t any_range(const struct area *area, size_t *first, size_t most)
{
	size_t n;

	*first = below(area->npages);
	n = area->npages - *first;
	return 1 + below(n < most ? n : most);
}

static bool unmap(struct area *area)
{
	size_t first, n = any_range(area, &first, AT_ONCE);
	bool good;

	compare_pages("before munmap()", area, first, n);
	good = !munmap(area->start, area->npages * PAGE);
	area->start = NULL;
	return good;
}

/* Map memory that is empty: private, shared, or two huge pages of hugetlb. */
static bool map(struct area *area)
{
	int kind = below(8), flags = MAP_ANONYMOUS;
	size_t npages = below(2) ? 1 + below(MOST_PAGES) : (1 + below(3)) * (HUGE / PAGE);
	void *start;

	if (area->start)
		return unmap(area);
	area->huge = kind == 0;
	area->shared = kind > 0 && kind < 3;
	flags |= area->shared ? MAP_SHARED : MAP_PRIVATE;
	if (area->huge) {
		flags |= MAP_HUGETLB;
		npages = 2 * (HUGE / PAGE);
	}
	start = mmap(NULL, npages * PAGE, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (start == MAP_FAILED)
		return false;
	area->start = start;
	area->npages = npages;
	memset(area->tag, 0, sizeof(area->tag));
	return true;
}

static bool store(struct area *area)
{
	size_t first, n = any_range(area, &first, AT_ONCE);

	write_pages(area, first, n);
	return true;
}

static bool load(struct area *area)
{
	size_t first, n = any_range(area, &first, AT_ONCE);

	compare_pages("memory", area, first, n);
	return true;
}

/* Grow or shrink an area, which may move its page tables. */
static bool remap(struct area *area)
{
	size_t npages = 1 + below(MOST_PAGES), first, n;
	void *start;

	if (area->shared || area->huge)
		return false;
	start = mremap(area->start, area->npages * PAGE, npages * PAGE, MREMAP_MAYMOVE);
	if (start == MAP_FAILED)
		return false;
	for (size_t i = area->npages; i < npages; i++)
		area->tag[i] = 0;
	area->start = start;
	area->npages = npages;
	n = any_range(area, &first, AT_ONCE);
	compare_pages("after mremap()", area, first, n);
	return true;
}

static bool protect(struct area *area)
{
	size_t first, n = any_range(area, &first, MOST_PAGES);
	char *start = area->start + first * PAGE;
	bool good;

	if (area->huge)
		return false;
	good = !mprotect(start, n * PAGE, PROT_READ);
	compare_pages("memory that is read-only", area, first, n < AT_ONCE ? n : AT_ONCE);
	return !mprotect(start, n * PAGE, PROT_READ | PROT_WRITE) && good;
}

static bool advise(struct area *area)
{
	static const int advices[] = {
		MADV_HUGEPAGE, MADV_NOHUGEPAGE, MADV_COLD, MADV_PAGEOUT,
		COLLAPSE, COLLAPSE, POPULATE_WRITE, MADV_WILLNEED,
	};
	size_t first, n = any_range(area, &first, MOST_PAGES);

	if (area->huge)
		return false;
	return !madvise(area->start + first * PAGE, n * PAGE, advices[below(ARRAY_SIZE(advices))]);
}

static bool discard(struct area *area)
{
	size_t first, n = any_range(area, &first, MOST_PAGES);

	if (area->shared || area->huge ||
	    madvise(area->start + first * PAGE, n * PAGE, MADV_DONTNEED))
		return false;
	memset(area->tag + first, 0, n * sizeof(*area->tag));
	compare_pages("memory that was discarded", area, first, n < AT_ONCE ? n : AT_ONCE);
	return true;
}

static bool lock(struct area *area)
{
	size_t first, n = any_range(area, &first, AT_ONCE);
	bool good = !mlock(area->start + first * PAGE, n * PAGE);

	compare_pages("memory that is locked", area, first, n);
	return !munlock(area->start + first * PAGE, n * PAGE) && good;
}

/* Move an area to one of the first two nodes. */
static bool move(struct area *area)
{
	unsigned long node = 1UL << below(2);

	return !syscall(SYS_mbind, area->start, area->npages * PAGE, MPOL_PREFERRED, &node,
			8 * sizeof(node), MPOL_MOVE);
}

/* Let a child look at the area and write to it, unless it is shared with this process. */
static bool fork_child(struct area *area)
{
	size_t first, n = any_range(area, &first, AT_ONCE);
	int status;
	pid_t child = fork();

	if (child < 0)
		return false;
	if (!child) {
		compare_pages("memory of a child", area, first, n);
		if (!area->shared) {
			write_pages(area, first, n);
			compare_pages("memory that a child wrote", area, first, n);
		}
		_exit(0);
	}
	if (waitpid(child, &status, 0) != child)
		return false;
	/* A child is killed if no huge page is left for its copy. */
	if (status && !(area->huge && WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS)) {
		fprintf(stderr, "random_calls: a child ended with status 0x%x\n", status);
		exit(1);
	}
	compare_pages("memory after fork()", area, first, n);
	return true;
}

/* Send some pages through a pipe whose ring is allocated again. */
static bool pass_through_pipe(struct area *area)
{
	static uint64_t buffer[16 * WORDS];
	size_t first, n = any_range(area, &first, 16);
	struct iovec vector = { area->start + first * PAGE, n * PAGE };
	size_t sent, got = 0;
	int ends[2];

	if (pipe(ends))
		return false;
	fcntl(ends[1], F_SETPIPE_SZ, (16 + below(240)) * PAGE);
	for (sent = 0; sent < n * PAGE;) {
		ssize_t size = vmsplice(ends[1], &vector, 1, SPLICE_F_NONBLOCK);

		if (size <= 0)
			break;
		sent += size;
		vector.iov_base = (char *)vector.iov_base + size;
		vector.iov_len -= size;
	}
	while (got < sent) {
		ssize_t size = read(ends[0], (char *)buffer + got, sent - got);

		if (size <= 0)
			break;
		got += size;
	}
	for (size_t i = 0; i < got / PAGE; i++)
		compare("what a pipe had", buffer + i * WORDS, first + i, area->tag[first + i]);
	close(ends[0]);
	close(ends[1]);
	return got == n * PAGE;
}

/* Read a file that walks page tables or the areas of vmalloc. */
static bool read_file(struct area *area)
{
	static const char *const files[] = {
		"/proc/self/smaps", "/proc/self/numa_maps", "/proc/vmallocinfo",
		"/proc/zoneinfo", "/proc/pagetypeinfo",
	};
	static char buffer[1 << 16];
	int file = open(files[below(ARRAY_SIZE(files))], O_RDONLY);
	ssize_t size;

	(void)area;
	if (file < 0)
		return false;
	do {
		size = read(file, buffer, sizeof(buffer));
	} while (size > 0);
	close(file);
	return !size;
}

static struct {
	const char *name;
	bool (*call)(struct area *area);
	unsigned int weight;
	unsigned long calls, good;
} kinds[] = {
	{ "map", map, 3 },
	{ "store", store, 6 },
	{ "load", load, 4 },
	{ "mremap", remap, 2 },
	{ "mprotect", protect, 2 },
	{ "madvise", advise, 3 },
	{ "discard", discard, 1 },
	{ "mlock", lock, 1 },
	{ "mbind", move, 2 },
	{ "fork", fork_child, 1 },
	{ "pipe", pass_through_pipe, 2 },
	{ "read", read_file, 1 },
};

static void call_any(void)
{
	struct area *area = &areas[below(AREAS)];
	unsigned int sum = 0, at, i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		sum += kinds[i].weight;
	at = below(sum);
	for (i = 0; at >= kinds[i].weight; i++)
		at -= kinds[i].weight;
	if (!area->start)
		i = 0;
	kinds[i].calls++;
	kinds[i].good += kinds[i].call(area);
}

int main(int count, char **words)
{
	unsigned long calls = count > 2 ? strtoul(words[2], NULL, 0) : 0, n = 0;

	if (count < 2)
		return 2;
	state = strtoul(words[1], NULL, 0) * 2 + 1;
	signal(SIGTERM, stop);
	while (!stopped && (!calls || n < calls)) {
		call_any();
		turn();
		n++;
	}
	for (size_t i = 0; i < AREAS; i++) {
		if (areas[i].start)
			compare_pages("at the end", &areas[i], 0, areas[i].npages);
	}
	printf("%lu calls:", n);
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		printf(" %s %lu/%lu", kinds[i].name, kinds[i].good, kinds[i].calls);
	putchar('\n');
	return 0;
}
