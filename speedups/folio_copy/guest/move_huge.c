// SPDX-License-Identifier: GPL-2.0-only
/*
 * Move the huge pages of this process from node to node until it is stopped, and
 * then print how many were moved as a whole. Only the first 4 KiB of each are asked
 * to move, so the last 4 KiB move along only if the page is still huge. Blocks that
 * were split are recreated.
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS 2
#define BLOCK (2UL << 20)
#define LAST_PAGE (BLOCK - 4096)
#define WORDS (BLOCK / sizeof(uint64_t))
#define MOVE 2 /* MPOL_MF_MOVE */

static void *blocks[BLOCKS];
static int nodes[BLOCKS];
static volatile sig_atomic_t ended;

static void end(int number)
{
	(void)number;
	ended = 1;
}

static void fill(int i)
{
	uint64_t *words = blocks[i];

	for (unsigned long k = 0; k < WORDS; k++)
		words[k] = i * WORDS + k;
}

static int is_full(int i)
{
	uint64_t *words = blocks[i];

	for (unsigned long k = 0; k < WORDS; k += 61) {
		if (words[k] != i * WORDS + k)
			return 0;
	}
	return 1;
}

/* Return the node that has the last page of a block. */
static int last_node(int i)
{
	void *last = (char *)blocks[i] + LAST_PAGE;
	int status = -1;

	return syscall(SYS_move_pages, 0, 1, &last, NULL, &status, MOVE) ? -1 : status;
}

/* Move all blocks. Return how many moved as a whole, or -1. */
static int move(int node)
{
	int status[BLOCKS], before[BLOCKS], moved = 0;

	for (int i = 0; i < BLOCKS; i++) {
		before[i] = last_node(i);
		nodes[i] = node;
	}
	if (syscall(SYS_move_pages, 0, BLOCKS, blocks, nodes, status, MOVE) < 0)
		return -1;

	for (int i = 0; i < BLOCKS; i++) {
		if (status[i] == node && last_node(i) == node)
			moved += before[i] != node;
		else if (status[i] == node && !madvise(blocks[i], BLOCK, MADV_DONTNEED))
			fill(i);
	}
	return moved;
}

int main(void)
{
	char *area = mmap(NULL, (BLOCKS + 1) * BLOCK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory = (char *)(((uintptr_t)area + BLOCK - 1) & ~(BLOCK - 1));
	int whole = 0, all = 0;

	if (area == MAP_FAILED || madvise(memory, BLOCKS * BLOCK, MADV_HUGEPAGE))
		return 1;
	signal(SIGTERM, end);
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = memory + i * BLOCK;
		fill(i);
	}

	for (int node = 1; !ended; node = !node) {
		int moved = move(node);

		if (moved < 0) {
			perror("move_pages");
			return 1;
		}
		whole += moved;
		all += BLOCKS;
		usleep(300000);
		for (int i = 0; i < BLOCKS; i++) {
			if (is_full(i))
				continue;
			fprintf(stderr, "block %d lost its content\n", i);
			return 1;
		}
	}
	printf("%d of %d\n", whole, all);
	return 0;
}
