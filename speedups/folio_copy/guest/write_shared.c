// SPDX-License-Identifier: GPL-2.0-only
/*
 * write_shared FOLIOS PAGE: share hugetlb pages of 2 MiB with a child that writes to one
 * page of each. Both then compare every word with what they should have.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE	4096UL
#define FOLIO	(2UL << 20)
#define WORDS	(FOLIO / sizeof(uint64_t))
#define WRITTEN	0x5a5a5a5a5a5a5a5aULL

static uint64_t *memory;
static unsigned long folios, written;

static uint64_t pattern(unsigned long i)
{
	return i * 0x9e3779b97f4a7c15ULL + 1;
}

/* The child wrote to the first word of a page of each folio. */
static int differs(const char *who, int has_written)
{
	unsigned long i;

	for (i = 0; i < folios * WORDS; i++) {
		uint64_t expected = pattern(i);

		if (has_written && i % WORDS == written * PAGE / sizeof(uint64_t))
			expected = WRITTEN;
		if (memory[i] == expected)
			continue;
		fprintf(stderr, "word %lu of folio %lu is wrong for the %s\n", i % WORDS,
			i / WORDS, who);
		return 1;
	}
	return 0;
}

static int child(void)
{
	unsigned long i;

	for (i = 0; i < folios; i++)
		memory[i * WORDS + written * PAGE / sizeof(uint64_t)] = WRITTEN;
	return differs("child", 1);
}

int main(int argc, char **argv)
{
	unsigned long i;
	int status;
	pid_t pid;

	if (argc != 3)
		return 2;
	folios = strtoul(argv[1], NULL, 0);
	written = strtoul(argv[2], NULL, 0);
	memory = mmap(NULL, folios * FOLIO, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
	if (memory == MAP_FAILED) {
		perror("mmap");
		return 1;
	}
	for (i = 0; i < folios * WORDS; i++)
		memory[i] = pattern(i);

	pid = fork();
	if (!pid)
		_exit(child());
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		perror("fork");
		return 1;
	}
	if (status) {
		fprintf(stderr, "the child ended with status %d\n", status);
		return 1;
	}
	return differs("parent", 0);
}
