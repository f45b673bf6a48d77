// SPDX-License-Identifier: GPL-2.0-only
/*
 * A call of remap_pfn_range() for one page makes the PTE from its PFN. Compare a mapping that is
 * made page by page with one that is made at once.
 */

#include <kunit/test.h>
#include <linux/anon_inodes.h>
#include <linux/file.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <linux/mman.h>
#include <linux/pgtable.h>
#include <linux/sizes.h>
#include <linux/uaccess.h>

#include "internal.h"

/* As much contiguous memory as the page allocator has in one block. */
#define REMAP_PAGES	(SZ_4M / PAGE_SIZE)
#define REMAP_AREA	(5UL * PMD_SIZE)
#define REMAP_AROUND	2UL

static void *remap_memory;

/**
 * struct remap_range - what a driver maps
 * @at: page of the area at which the mapping begins; page 0 begins a page table
 * @nr: number of pages
 * @step: pages for each call
 */
struct remap_range {
	unsigned long at;
	unsigned long nr;
	unsigned long step;
};

static unsigned long remap_address(unsigned long area, unsigned long page)
{
	return ALIGN(area, PMD_SIZE) + page * PAGE_SIZE;
}

static int remap_mmap(struct file *file, struct vm_area_struct *vma)
{
	const struct remap_range *range = file->private_data;
	const unsigned long pfn = page_to_pfn(virt_to_page(remap_memory));
	unsigned long i;
	int err;

	for (i = 0; i < range->nr; i += range->step) {
		err = remap_pfn_range(vma, remap_address(vma->vm_start, range->at + i), pfn + i,
				      min(range->step, range->nr - i) * PAGE_SIZE,
				      vma->vm_page_prot);
		if (err)
			return err;
	}
	return 0;
}

static const struct file_operations remap_fops = { .mmap = remap_mmap };

static unsigned long remap_map(struct kunit *test, struct remap_range *range, unsigned long prot)
{
	struct file *file = anon_inode_getfile("remap_pfn_kunit", &remap_fops, range, O_RDWR);
	unsigned long area;

	KUNIT_ASSERT_FALSE(test, IS_ERR(file));
	area = kunit_vm_mmap(test, file, 0, REMAP_AREA, prot, MAP_SHARED, 0);
	fput(file);
	KUNIT_ASSERT_NE(test, area, 0);
	KUNIT_ASSERT_FALSE(test, IS_ERR_VALUE(area));
	return area;
}

/* Get what is mapped at a page of an area. The PFN is 0 if nothing is. */
static struct follow_pfnmap_args remap_look(unsigned long area, unsigned long page)
{
	struct follow_pfnmap_args args = { .address = remap_address(area, page) };

	mmap_read_lock(current->mm);
	args.vma = vma_lookup(current->mm, args.address);
	if (!args.vma || follow_pfnmap_start(&args))
		args.pfn = 0;
	else
		follow_pfnmap_end(&args);
	mmap_read_unlock(current->mm);
	return args;
}

static void remap_compare(struct kunit *test, const struct remap_range *range, unsigned long area,
			  unsigned long single)
{
	const unsigned long pfn = page_to_pfn(virt_to_page(remap_memory));
	unsigned long i, page;

	for (i = 0; i < range->nr + 2 * REMAP_AROUND; i++) {
		struct follow_pfnmap_args a, b;
		bool inside;

		page = range->at + i - REMAP_AROUND;
		inside = page - range->at < range->nr;
		a = remap_look(area, page);
		b = remap_look(single, page);
		if (a.pfn == b.pfn && a.pfn == (inside ? pfn + page - range->at : 0) &&
		    (!inside || (pgprot_val(a.pgprot) == pgprot_val(b.pgprot) &&
				 a.writable == b.writable && a.special == b.special)))
			continue;
		KUNIT_FAIL(test, "%lu pages at %lu: page %ld has PFN %#lx and not %#lx",
			   range->nr, range->at, (long)(page - range->at), a.pfn, b.pfn);
		return;
	}
}

static void remap_read(struct kunit *test, const struct remap_range *range, unsigned long area)
{
	unsigned long i, seen;

	for (i = 0; i < range->nr; i++) {
		if (!get_user(seen, (unsigned long __user *)remap_address(area, range->at + i)) &&
		    seen == i)
			continue;
		KUNIT_FAIL(test, "%lu pages at %lu: page %lu can't be read, or is another one",
			   range->nr, range->at, i);
		return;
	}
}

static void remap_pfn_prot(struct kunit *test, unsigned long prot)
{
	const struct remap_range ranges[] = {
		{ REMAP_AROUND, 1 },
		{ REMAP_AROUND, 2 },
		{ REMAP_AROUND, REMAP_PAGES },
		{ PTRS_PER_PTE - 1, 1 },
		{ PTRS_PER_PTE - 1, 2 },
		{ PTRS_PER_PTE - 3, REMAP_PAGES },
		{ PTRS_PER_PTE, min(REMAP_PAGES, PTRS_PER_PTE) },
		{ PTRS_PER_PTE, REMAP_PAGES - 1 },
	};
	unsigned long area, single;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(ranges); i++) {
		struct remap_range range = ranges[i];

		range.step = 1;
		single = remap_map(test, &range, prot);
		range.step = range.nr;
		area = remap_map(test, &range, prot);
		remap_compare(test, &range, area, single);
		if (prot & PROT_READ)
			remap_read(test, &range, area);
		KUNIT_EXPECT_EQ(test, vm_munmap(area, REMAP_AREA), 0);
		KUNIT_EXPECT_EQ(test, vm_munmap(single, REMAP_AREA), 0);
	}
}

static void remap_pfn_write(struct kunit *test)
{
	remap_pfn_prot(test, PROT_READ | PROT_WRITE);
}

static void remap_pfn_read(struct kunit *test)
{
	remap_pfn_prot(test, PROT_READ);
}

/* Such a PTE has its PFN inverted on x86. */
static void remap_pfn_none(struct kunit *test)
{
	remap_pfn_prot(test, PROT_NONE);
}

/* Physical addresses that carry between the parts of a PTE. */
static void remap_pfn_next(struct kunit *test)
{
	const pgprot_t prots[] = { PAGE_KERNEL, PAGE_SHARED, PAGE_READONLY, PAGE_NONE };
	unsigned int i, bit;

	for (i = 0; i < ARRAY_SIZE(prots); i++) {
		for (bit = 0; bit < MAX_PHYSMEM_BITS - PAGE_SHIFT; bit++) {
			unsigned long pfn = (1UL << bit) - 1;
			pte_t pte = pte_mkspecial(pfn_pte(pfn, prots[i]));
			pte_t next = pte_next_special(pte, pfn + 1, prots[i]);
			pte_t want = pte_mkspecial(pfn_pte(pfn + 1, prots[i]));

			KUNIT_EXPECT_EQ_MSG(test, pte_val(next), pte_val(want),
					    "PFN %#lx, protection %u", pfn + 1, i);
		}
	}
}

static int remap_pfn_init(struct kunit_suite *suite)
{
	unsigned long i;

	remap_memory = alloc_pages_exact(REMAP_PAGES * PAGE_SIZE, GFP_KERNEL);
	if (!remap_memory)
		return -ENOMEM;
	for (i = 0; i < REMAP_PAGES; i++)
		*(unsigned long *)(remap_memory + i * PAGE_SIZE) = i;
	return 0;
}

static void remap_pfn_exit(struct kunit_suite *suite)
{
	if (remap_memory)
		free_pages_exact(remap_memory, REMAP_PAGES * PAGE_SIZE);
}

static struct kunit_case remap_pfn_cases[] = {
	KUNIT_CASE(remap_pfn_write),
	KUNIT_CASE(remap_pfn_read),
	KUNIT_CASE(remap_pfn_none),
	KUNIT_CASE(remap_pfn_next),
	{}
};

static struct kunit_suite remap_pfn_suite = {
	.name		= "remap_pfn",
	.suite_init	= remap_pfn_init,
	.suite_exit	= remap_pfn_exit,
	.test_cases	= remap_pfn_cases,
};

kunit_test_suite(remap_pfn_suite);
