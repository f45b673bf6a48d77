// SPDX-License-Identifier: GPL-2.0-only
/* Memory that kernel code writes: touched huge pages, between inaccessible pages. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host.h"

#define HUGE	(2UL << 20)

static unsigned long round_up(unsigned long n, unsigned long to)
{
	return (n + to - 1) & -to;
}

/* Sanitizers miss stores by inline assembly, but PROT_NONE around the arena stops them. */
void *arena_map(unsigned long bytes)
{
	unsigned long span = round_up(bytes, HUGE) + 3 * HUGE;
	char *map, *image;

	map = mmap(NULL, span, PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (map == MAP_FAILED)
		hosted_die("no address space for the arena");

	image = (char *)round_up((unsigned long)map + HUGE, HUGE);
	if (mprotect(image, round_up(bytes, 4096), PROT_READ | PROT_WRITE))
		hosted_die("no memory for the arena");
	madvise(image, bytes, MADV_HUGEPAGE);
	memset(image, 0x5a, bytes);

	return image;
}

/* Map an image and @beside more parts of the same size, each at a multiple of 2 MiB. */
void *arena_map_with(unsigned long bytes, unsigned int beside)
{
	return arena_map(beside ? (1 + beside) * round_up(bytes, HUGE) : bytes);
}

/* Give memory of an arena back to the host, so that its pages are new when they are written. */
void arena_renew(void *memory, unsigned long bytes)
{
	if (madvise(memory, round_up(bytes, 4096), MADV_DONTNEED))
		hosted_die("can't give memory back");
}

FROM_KERNEL void *hosted_arena(unsigned long bytes)
{
	return arena_map(bytes);
}

/*
 * Map the same @bytes again and again. A write to one part changes all of them,
 * so a memmap of any size takes as much memory as one part, if all parts are alike.
 */
FROM_KERNEL void *hosted_repeated_arena(unsigned long bytes, unsigned long times)
{
	const int file = memfd_create("arena", MFD_CLOEXEC);
	char *map = mmap(NULL, bytes * times, PROT_NONE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (file < 0 || ftruncate(file, bytes) || map == MAP_FAILED)
		hosted_die("no memory for an arena that repeats itself");
	for (unsigned long i = 0; i < times; i++) {
		if (mmap(map + i * bytes, bytes, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_FIXED, file, 0) == MAP_FAILED)
			hosted_die("no address space for an arena that repeats itself");
	}
	close(file);

	return map;
}

/*
 * The size of the largest cache of this CPU, from the kernel's cacheinfo. On
 * some machines sysconf() adds up all caches of the package.
 */
unsigned long arena_llc_bytes(void)
{
	unsigned long most = 0, kib;
	char path[80];
	FILE *file;

	for (unsigned int i = 0; i < 8; i++) {
		snprintf(path, sizeof(path),
			 "/sys/devices/system/cpu/cpu0/cache/index%u/size", i);
		file = fopen(path, "r");
		if (!file)
			break;
		if (fscanf(file, "%luK", &kib) == 1 && kib << 10 > most)
			most = kib << 10;
		fclose(file);
	}
	return most ? most : 32UL << 20;
}
