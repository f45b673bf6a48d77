// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compute a digest of a part of the memmap, in a guest with a stock kernel.
 *
 * Write "FIRST COUNT" to the parameter, and read the digest of those struct pages
 * from it. The dev_pagemap differs with each bind. So a pointer to it enters the
 * digest as its distance from the pointer of the first struct page.
 */

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sysfs.h>

#define MEMMAP_IMAGE_WORDS	(sizeof(struct page) / sizeof(u64))
/* In the place of the list, in whichever struct the kernel has it. */
#define MEMMAP_IMAGE_PGMAP	(offsetof(struct page, lru) / sizeof(u64))
#define MEMMAP_IMAGE_PRIME	0x100000001b3ULL

static u64 memmap_image_digest;

static u64 memmap_image_make(unsigned long pfn, unsigned long nr)
{
	u64 digest = 0xcbf29ce484222325ULL, first = 0;
	unsigned long i;
	unsigned int k;

	for (i = 0; i < nr; i++) {
		const u64 *words = (const u64 *)pfn_to_page(pfn + i);

		if (!i)
			first = words[MEMMAP_IMAGE_PGMAP];
		for (k = 0; k < MEMMAP_IMAGE_WORDS; k++) {
			u64 word = words[k];

			/* The last bit distinguishes a tail's head from a pgmap. */
			if (k == MEMMAP_IMAGE_PGMAP && !(word & 1))
				word -= first;
			digest = (digest ^ word) * MEMMAP_IMAGE_PRIME;
		}
		if (!(i % PAGES_PER_SECTION))
			cond_resched();
	}

	return digest;
}

static int memmap_image_set(const char *val, const struct kernel_param *kp)
{
	unsigned long pfn, nr, i;

	if (sscanf(val, "%lu %lu", &pfn, &nr) != 2)
		return -EINVAL;
	for (i = 0; i < nr; i += PAGES_PER_SECTION) {
		if (!pfn_valid(pfn + i))
			return -ENXIO;
	}
	memmap_image_digest = memmap_image_make(pfn, nr);
	return 0;
}

static int memmap_image_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%016llx\n", memmap_image_digest);
}

static const struct kernel_param_ops memmap_image_ops = {
	.set = memmap_image_set,
	.get = memmap_image_get,
};

module_param_cb(range, &memmap_image_ops, NULL, 0600);
MODULE_PARM_DESC(range, "first PFN and number of struct pages for the digest");
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: digest of a memmap, for tests in guests");
