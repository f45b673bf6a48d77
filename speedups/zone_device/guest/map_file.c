// SPDX-License-Identifier: GPL-2.0-only
/*
 * map_file PATH BYTES [check]: write a pattern through a shared mapping and
 * read it back through another one; "check" only reads.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t pattern(size_t i)
{
	return (i + 1) * 0x9e3779b97f4a7c15ULL;
}

static uint64_t *map(const char *path, size_t bytes)
{
	int fd = open(path, O_RDWR);
	uint64_t *words;

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	words = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (words == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	close(fd);
	return words;
}

int main(int argc, char **argv)
{
	uint64_t *words;
	size_t bytes, i;

	if (argc < 3)
		return 2;
	bytes = strtoull(argv[2], NULL, 0);

	if (argc == 3) {
		words = map(argv[1], bytes);
		for (i = 0; i < bytes / sizeof(*words); i++)
			words[i] = pattern(i);
		/* msync() fails on a character device, which has nothing to sync. */
		if (msync(words, bytes, MS_SYNC) && errno != EINVAL) {
			perror("msync");
			return 1;
		}
		munmap(words, bytes);
	}

	words = map(argv[1], bytes);
	for (i = 0; i < bytes / sizeof(*words); i++) {
		if (words[i] != pattern(i)) {
			fprintf(stderr, "word %zu of %s differs\n", i, argv[1]);
			return 1;
		}
	}
	return 0;
}
