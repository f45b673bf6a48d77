// SPDX-License-Identifier: GPL-2.0-only
/*
 * How much memory stays in the cache. CPUID and sysfs report the size of a cache
 * that a virtual machine may share with others, or get a part of: 44 of 260 MiB on
 * one machine. So memory of growing sizes is written again and again, and a line
 * takes much longer once the memory does not fit.
 */
#define _GNU_SOURCE
#include <cpuid.h>
#include <stdint.h>
#include <sys/mman.h>

#include "host.h"

#define LINE		64UL
#define HUGE		(2UL << 20)
#define LEAST		(64UL << 10)
#define STEP		20251UL		/* odd, and 0.618 of 32768 lines */
#define TRIES		5
#define BOUND_NS	300000000UL

/* Sizes to try, in parts of the reported size. */
#define OF		32
static const unsigned char parts[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32 };

#define SIZES		(sizeof(parts) / sizeof(*parts))

/* Below this ratio of the two times, nothing can be said about any memory. */
#define CONTRAST	1.5

bool cache_tells(const struct cache *cache)
{
	return cache->hot_ns > 0 && cache->cold_ns >= CONTRAST * cache->hot_ns;
}

/* Whether lines that take @ns each were in the cache: nearer to hot than to cold. */
bool cache_is_hot(const struct cache *cache, double ns)
{
	return ns * ns < cache->hot_ns * cache->cold_ns;
}

/*
 * Return the largest of @nr sizes that stays in the cache, 0 if that is unknown. Noise
 * only adds to a time, so the sizes below one that is hot fit as well.
 */
unsigned long cache_largest(const struct cache *cache, const unsigned long *bytes,
			    const double *ns, unsigned int nr)
{
	unsigned long largest = 0;

	for (unsigned int i = 0; cache_tells(cache) && i < nr; i++) {
		if (cache_is_hot(cache, ns[i]) && bytes[i] > largest)
			largest = bytes[i];
	}
	return largest;
}

/* Return which of @nr lines, a power of two up to 32768, is visited after @i others. */
unsigned long cache_step(unsigned long i, unsigned long nr)
{
	return i * STEP & (nr - 1);
}

/*
 * Modify each line, and return the time of one in ns. If they were visited in order,
 * prefetchers would hide half of the cost of memory.
 */
double cache_rewrite(void *memory, unsigned long bytes)
{
	unsigned long start = hosted_now_ns(), lines = (bytes + LINE - 1) / LINE;

	for (unsigned long done = 0, nr = HUGE / LINE; done < lines; done += nr) {
		while (nr > lines - done)
			nr /= 2;
		for (unsigned long i = 0; i < nr; i++) {
			unsigned long at = (done + cache_step(i, nr)) * LINE;
			volatile uint64_t *word = (void *)((char *)memory + at);

			*word = *word;
		}
	}
	return (double)(hosted_now_ns() - start) / lines;
}

/* Flushes of clflush wait for each other, and those of clflushopt do not. */
static int flushes_in_parallel(void)
{
	unsigned int a, b = 0, c, d;

	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && b & bit_CLFLUSHOPT;
}

/**
 * hosted_flush - write back memory, and leave no line of it in any cache
 * @memory: its start, at a line
 * @bytes: its size
 */
void hosted_flush(const void *memory, unsigned long bytes)
{
	const char *line = memory, *end = line + bytes;

	if (flushes_in_parallel()) {
		for (; line < end; line += LINE)
			asm volatile("clflushopt %0" : : "m"(*line) : "memory");
	} else {
		for (; line < end; line += LINE)
			asm volatile("clflush %0" : : "m"(*line) : "memory");
	}
	asm volatile("mfence" : : : "memory");
}

/* The least of several times. Memory that is not flushed was just written. */
static double least_ns(void *memory, unsigned long bytes, bool flushed)
{
	double least = 0, ns;

	cache_rewrite(memory, bytes);
	for (unsigned int i = 0; i < TRIES; i++) {
		if (flushed)
			hosted_flush(memory, bytes);
		ns = cache_rewrite(memory, bytes);
		if (!i || ns < least)
			least = ns;
	}
	return least;
}

static unsigned long measure_sizes(const struct cache *cache, void *memory,
				   unsigned long start_ns)
{
	unsigned long bytes[SIZES];
	unsigned int nr, missed = 0;
	double ns[SIZES];

	for (nr = 0; nr < SIZES && missed < 2; nr++) {
		if (hosted_now_ns() - start_ns > BOUND_NS)
			break;
		bytes[nr] = cache->reported / OF * parts[nr];
		ns[nr] = least_ns(memory, bytes[nr], false);
		missed = cache_is_hot(cache, ns[nr]) ? 0 : missed + 1;
	}
	return cache_largest(cache, bytes, ns, nr);
}

/*
 * Time lines that are in the cache and lines that are not. With @sizes, also find
 * out how much memory stays in the cache.
 */
void cache_measure(struct cache *cache, bool sizes)
{
	unsigned long start = hosted_now_ns(), least = cache->reported / OF;
	unsigned long span = cache->reported + 2 * HUGE;
	char *map, *memory;

	if (least < LEAST)
		return;
	map = mmap(NULL, span, PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		return;
	memory = (char *)(((unsigned long)map + HUGE - 1) & -HUGE);
	madvise(memory, cache->reported, MADV_HUGEPAGE);

	cache->hot_ns = least_ns(memory, least, false);
	cache->cold_ns = least_ns(memory, least, true);
	if (sizes && cache_tells(cache))
		cache->kept = measure_sizes(cache, memory, start);
	munmap(map, span);
}
