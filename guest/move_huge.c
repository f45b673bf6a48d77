// SPDX-License-Identifier: GPL-2.0-only
/*
 * For guests: move a process's huge pages from node to node until it is ended.
 * Says on the standard output how many were moved as a whole at first.
 */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BLOCKS 2
#define BLOCK (2UL << 20)
#define WORDS (BLOCK / sizeof(uint64_t))
#define MOVE 2 /* MPOL_MF_MOVE */

static void *blocks[BLOCKS];
static int nodes[BLOCKS];
static int status[BLOCKS];

int main(void)
{
	char *room = mmap(NULL, (BLOCKS + 1) * BLOCK, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *memory = (char *)(((uintptr_t)room + BLOCK - 1) & ~(BLOCK - 1));
	int first = 1, node, moved;

	if (room == MAP_FAILED || madvise(memory, BLOCKS * BLOCK, MADV_HUGEPAGE))
		return 1;
	for (int i = 0; i < BLOCKS; i++) {
		uint64_t *words = (uint64_t *)(memory + i * BLOCK);

		blocks[i] = words;
		for (unsigned long k = 0; k < WORDS; k++)
			words[k] = i * WORDS + k;
	}

	for (node = 1;; node = !node) {
		for (int i = 0; i < BLOCKS; i++)
			nodes[i] = node;
		if (syscall(SYS_move_pages, 0, BLOCKS, blocks, nodes, status, MOVE) < 0) {
			perror("move_pages");
			return 1;
		}
		moved = 0;
		for (int i = 0; i < BLOCKS; i++)
			moved += status[i] == node;
		if (first) {
			printf("%d of %d\n", moved, BLOCKS);
			fflush(stdout);
		}
		first = 0;
		usleep(300000);
		for (int i = 0; i < BLOCKS; i++) {
			uint64_t *words = blocks[i];

			for (unsigned long k = 0; k < WORDS; k += 61) {
				if (words[k] == i * WORDS + k)
					continue;
				fprintf(stderr, "block %d lost its content\n", i);
				return 1;
			}
		}
	}
}
