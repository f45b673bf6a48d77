// SPDX-License-Identifier: GPL-2.0-only
/* Move the pages of this process from node to node until it is stopped. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGES 4096
#define SIZE 4096UL
#define MOVE 2 /* MPOL_MF_MOVE */

static void *pages[PAGES];
static int nodes[PAGES];
static int status[PAGES];

int main(void)
{
	char *memory = mmap(NULL, PAGES * SIZE, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int node;

	if (memory == MAP_FAILED)
		return 1;
	for (int i = 0; i < PAGES; i++) {
		pages[i] = memory + i * SIZE;
		memset(pages[i], i, SIZE);
	}

	for (node = 1;; node = !node) {
		for (int i = 0; i < PAGES; i++)
			nodes[i] = node;
		if (syscall(SYS_move_pages, 0, PAGES, pages, nodes, status, MOVE) < 0) {
			perror("move_pages");
			return 1;
		}
		usleep(50000);
		for (int i = 0; i < PAGES; i++) {
			char *page = pages[i];

			if (page[0] != (char)i || page[SIZE - 1] != (char)i) {
				fprintf(stderr, "page %d lost its content\n", i);
				return 1;
			}
		}
	}
}
