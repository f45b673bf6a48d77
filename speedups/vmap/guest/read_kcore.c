// SPDX-License-Identifier: GPL-2.0-only
/*
 * read_kcore FILE [STOP]: read what vmap_image has mapped from /proc/kcore, as a debugger
 * of the running kernel does. FILE is its parameter "map" or "huge", which says where.
 *
 * Every page must have the content that vmap_image wrote when it mapped it. With STOP,
 * reads go on until that file exists, while mappings come and go. What is not mapped is
 * read as zeros then, so contents are not compared. Prints the number of pages read, and
 * of those that had a content.
 */
#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define PAGE 4096UL
#define LAST (PAGE / sizeof(uint64_t) - 1)
#define KEY 0xa5a5000000000000ULL
#define PASSES 4 /* with STOP, before it asks where the pages are now */
#define NAP_US 200000

static void fail(const char *what)
{
	fprintf(stderr, "read_kcore: %s\n", what);
	exit(1);
}

static void read_whole(int kcore, void *to, size_t bytes, uint64_t at)
{
	if (pread(kcore, to, bytes, at) != (ssize_t)bytes)
		fail("/proc/kcore has less there");
}

/* Return where the content of an address is in /proc/kcore. */
static uint64_t position(int kcore, uint64_t address)
{
	Elf64_Ehdr header;
	Elf64_Phdr part;
	unsigned int i;

	read_whole(kcore, &header, sizeof(header), 0);
	for (i = 0; i < header.e_phnum; i++) {
		read_whole(kcore, &part, sizeof(part), header.e_phoff + i * sizeof(part));
		if (part.p_type == PT_LOAD && address - part.p_vaddr < part.p_memsz)
			return part.p_offset + (address - part.p_vaddr);
	}
	fail("the address is in no part of /proc/kcore");
	return 0;
}

/* Return the number of pages that are mapped, and where. */
static unsigned long mapped(const char *path, uint64_t *address)
{
	unsigned long pages, leaves;
	FILE *file = fopen(path, "r");

	if (!file || fscanf(file, "%lu %lu %lx", &pages, &leaves, address) != 3)
		fail("cannot read where the pages are");
	fclose(file);
	return pages;
}

int main(int argc, char **argv)
{
	int kcore = open("/proc/kcore", O_RDONLY);
	unsigned long reads = 0, filled = 0, pages, i;
	uint64_t words[LAST + 1], address;
	unsigned int pass;

	if (argc < 2 || argc > 3)
		fail("name a file of vmap_image");
	if (kcore < 0)
		fail("cannot open /proc/kcore");
	do {
		pages = mapped(argv[1], &address);
		for (pass = 0; pages && pass < (argc > 2 ? PASSES : 1); pass++) {
			uint64_t at = position(kcore, address);

			for (i = 0; i < pages; i++) {
				read_whole(kcore, words, sizeof(words), at + i * PAGE);
				reads++;
				filled += words[0] == KEY + i && words[LAST] == KEY - i;
			}
		}
	} while (argc > 2 && !usleep(NAP_US) && access(argv[2], F_OK));
	printf("%lu %lu\n", reads, filled);
	return argc == 2 && (!reads || filled < reads);
}
