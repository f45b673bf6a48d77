// SPDX-License-Identifier: GPL-2.0-only
/*
 * move_ring FILE ROUNDS NODE NODE: read a file by aio, move the ring that holds the
 * events to one node and then to the other, and check that no event is lost.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE	4096UL
#define READS	512	/* more than fit into one page of the ring */
#define MOVE	2	/* MPOL_MF_MOVE */

static char content[READS * 64], found[READS * 64];
static struct iocb iocbs[READS], *pointers[READS];
static struct io_event events[READS];

static void die(const char *what)
{
	perror(what);
	exit(1);
}

/* Move each page of the ring, whose name is its address, and count them. */
static unsigned long move(aio_context_t ring, int node)
{
	unsigned long at, moved = 0;

	for (at = ring;; at += PAGE) {
		void *page = (void *)at;
		int status = -1;

		if (syscall(SYS_move_pages, 0, 1UL, &page, &node, &status, MOVE) < 0)
			die("move_pages");
		if (status != node)
			return moved;
		moved++;
	}
}

/* Events have other names in each round, so that an old one is recognised. */
static void submit(aio_context_t ring, int fd, uint64_t first)
{
	unsigned long i;

	memset(found, 0, sizeof(found));
	for (i = 0; i < READS; i++) {
		iocbs[i] = (struct iocb){
			.aio_data = first + i,
			.aio_lio_opcode = IOCB_CMD_PREAD,
			.aio_fildes = fd,
			.aio_buf = (uintptr_t)(found + 64 * i),
			.aio_nbytes = 64,
			.aio_offset = 64 * i,
		};
		pointers[i] = &iocbs[i];
	}
	if (syscall(SYS_io_submit, ring, (long)READS, pointers) != READS)
		die("io_submit");
}

static void collect(aio_context_t ring, uint64_t first)
{
	static char seen[READS];
	unsigned long i;

	memset(seen, 0, sizeof(seen));
	if (syscall(SYS_io_getevents, ring, (long)READS, (long)READS, events, NULL) != READS)
		die("io_getevents");
	for (i = 0; i < READS; i++) {
		uint64_t which = events[i].data - first;

		if (which >= READS || seen[which] || events[i].res != 64) {
			fprintf(stderr, "event %lu is not one of a read\n", i);
			exit(1);
		}
		seen[which] = 1;
	}
	if (memcmp(content, found, sizeof(content))) {
		fprintf(stderr, "the data that was read differs from the file\n");
		exit(1);
	}
}

int main(int argc, char **argv)
{
	unsigned long moved = 0, rounds, i;
	aio_context_t ring = 0;
	int fd;

	if (argc != 5)
		return 2;
	rounds = strtoul(argv[2], NULL, 0);
	for (i = 0; i < sizeof(content); i++)
		content[i] = i * 7 + i / 251;
	fd = open(argv[1], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || write(fd, content, sizeof(content)) != sizeof(content))
		die(argv[1]);
	if (syscall(SYS_io_setup, READS, &ring))
		die("io_setup");

	for (i = 0; i < rounds; i++) {
		submit(ring, fd, i * READS);
		moved += move(ring, atoi(argv[3 + i % 2]));
		collect(ring, i * READS);
	}
	printf("%lu\n", moved);
	if (moved < rounds) {
		fprintf(stderr, "the ring moved %lu times in %lu rounds\n", moved, rounds);
		return 1;
	}
	return 0;
}
