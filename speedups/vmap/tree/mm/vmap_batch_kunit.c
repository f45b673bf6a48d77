// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare page tables that are written in batches with those of the slow path. Included by
 * mm/vmalloc.c.
 *
 * A call for a single page takes the slow path, and uses neither a huge PMD mapping nor a
 * contiguous PTE block. So an area that is mapped page by page shows what another one must
 * have.
 */

#include <kunit/test.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/prandom.h>
#include <linux/vmalloc.h>

#define PAGES	1024UL
#define ROUNDS	110
#define SPACE	(2 * PMD_SIZE)

struct vmap_batch {
	struct page *memory;	/* PAGES contiguous pages */
	struct page **pages;
	struct vm_struct *slow;	/* areas, of which each has one table of PMDs */
	struct vm_struct *fast;
	struct rnd_state rnd;
};

static bool batch_is_cont(pte_t pte)
{
#ifdef pte_cont
	return pte_cont(pte);
#else
	return false;
#endif
}

/* The PTE of an address, or what it would be in place of a huge PMD mapping. */
static pte_t batch_pte(unsigned long addr)
{
	pmd_t pmd = pmdp_get(pmd_off_k(addr));

	if (pmd_none(pmd))
		return __pte(0);
	if (pmd_leaf(pmd))
		return pfn_pte(pmd_pfn(pmd) + PHYS_PFN(addr & ~PMD_MASK), pgprot_nx(PAGE_KERNEL));

	return ptep_get(pte_offset_kernel(&pmd, addr));
}

/* Whether an address is mapped as another one, but for leaf entries of another size. */
static bool batch_is_same(unsigned long fast, unsigned long slow)
{
	unsigned long cont = BIT(arch_vmap_pte_supported_shift(PMD_SIZE));
	unsigned long first = ALIGN_DOWN(fast, cont);
	pte_t pte = batch_pte(fast), head = batch_pte(first), want = batch_pte(slow);

	/* A contiguous PTE block must be complete and aligned. */
	if (batch_is_cont(pte) != batch_is_cont(head))
		return false;
	if (batch_is_cont(pte)) {
		if (!IS_ALIGNED(PFN_PHYS(pte_pfn(head)), cont) ||
		    pte_pfn(pte) != pte_pfn(head) + PHYS_PFN(fast - first))
			return false;
#ifdef pte_cont
		pte = pte_mknoncont(pte);
#endif
	}

	return pte_val(pte) == pte_val(want);
}

static void batch_compare(struct kunit *test, unsigned long fast, unsigned long slow,
			  unsigned long nr)
{
	unsigned long i;

	for (i = 0; i < nr; i++) {
		if (batch_is_same(fast + i * PAGE_SIZE, slow + i * PAGE_SIZE))
			continue;
		KUNIT_FAIL(test, "page %lu of %lu: %#llx, expected %#llx", i, nr,
			   (u64)pte_val(batch_pte(fast + i * PAGE_SIZE)),
			   (u64)pte_val(batch_pte(slow + i * PAGE_SIZE)));
		return;
	}
}

static void batch_expect_none(struct kunit *test, unsigned long addr, unsigned long nr)
{
	while (nr && pte_none(batch_pte(addr + (nr - 1) * PAGE_SIZE)))
		nr--;
	KUNIT_EXPECT_EQ(test, nr, 0);
}

/* Runs of up to @longest pages, which begin anywhere in the memory. */
static void batch_fill(struct vmap_batch *batch, unsigned long nr, unsigned long longest)
{
	unsigned long i, at = 0, run = 0;

	for (i = 0; i < nr; i++, at++, run--) {
		if (!run) {
			run = 1 + prandom_u32_state(&batch->rnd) % longest;
			at = prandom_u32_state(&batch->rnd);
			/* Half of them are aligned for contiguous PTE blocks. */
			if (at & PAGES)
				at &= ~31UL;
		}
		batch->pages[i] = batch->memory + at % PAGES;
	}
}

static void vmap_batch_arrays(struct kunit *test)
{
	struct vmap_batch *batch = test->priv;
	unsigned long slow = (unsigned long)batch->slow->addr, addr, nr, i;
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		nr = 1 + prandom_u32_state(&batch->rnd) % PAGES;
		batch_fill(batch, nr, 1UL << round % 11);
		for (i = 0, addr = slow; i < nr; i++, addr += PAGE_SIZE)
			KUNIT_ASSERT_EQ(test, 0,
					__vmap_pages_range_noflush(addr, addr + PAGE_SIZE,
								   pgprot_nx(PAGE_KERNEL),
								   batch->pages + i, PAGE_SHIFT));
		addr = (unsigned long)vmap(batch->pages, nr, VM_MAP, PAGE_KERNEL);
		KUNIT_ASSERT_NE(test, addr, 0);
		batch_compare(test, addr, slow, nr);
		KUNIT_EXPECT_NULL(test, vmalloc_to_page((void *)(addr + nr * PAGE_SIZE)));
		vunmap((void *)addr);
		batch_expect_none(test, addr, nr);
		vunmap_range(slow, slow + nr * PAGE_SIZE);
		batch_expect_none(test, slow, nr);
		cond_resched();
	}
}

/* Contiguous memory, as ioremap() maps it. */
static void vmap_batch_ranges(struct kunit *test)
{
	struct vmap_batch *batch = test->priv;
	const pgprot_t prot = pgprot_nx(PAGE_KERNEL);
	unsigned int round;

	for (round = 0; round < ROUNDS; round++) {
		unsigned long at = prandom_u32_state(&batch->rnd) % PAGES, i;
		unsigned long nr = 1 + prandom_u32_state(&batch->rnd) % (PAGES - at);
		unsigned long slow = (unsigned long)batch->slow->addr + at * PAGE_SIZE;
		unsigned long fast = (unsigned long)batch->fast->addr + at * PAGE_SIZE;
		/* Half of the virtual addresses are aligned like the physical ones. */
		phys_addr_t phys = page_to_phys(batch->memory + (round % 2 ? at : 0));

		for (i = 0; i < nr * PAGE_SIZE; i += PAGE_SIZE)
			KUNIT_ASSERT_EQ(test, 0, vmap_page_range(slow + i, slow + i + PAGE_SIZE,
								 phys + i, prot));
		KUNIT_ASSERT_EQ(test, 0,
				vmap_page_range(fast, fast + nr * PAGE_SIZE, phys, prot));
		batch_compare(test, fast, slow, nr);
		vunmap_range(fast, fast + nr * PAGE_SIZE);
		batch_expect_none(test, fast, nr);
		vunmap_range(slow, slow + nr * PAGE_SIZE);
		cond_resched();
	}
}

static void batch_fill_block(struct kunit *test, unsigned long addr, bool is_huge)
{
	struct vmap_batch *batch = test->priv;
	unsigned long i;

	KUNIT_ASSERT_EQ(test, 0, vmap_fill_area(addr, addr + PMD_SIZE, pgprot_nx(PAGE_KERNEL),
						batch->pages, VM_MAP));
	KUNIT_EXPECT_EQ(test, is_huge, pmd_leaf(pmdp_get(pmd_off_k(addr))));
	for (i = 0; i < PMD_SIZE / PAGE_SIZE; i++)
		KUNIT_EXPECT_PTR_EQ(test, batch->pages[i],
				    vmalloc_to_page((void *)(addr + i * PAGE_SIZE)));
	vunmap_range(addr, addr + PMD_SIZE);
	batch_expect_none(test, addr, PMD_SIZE / PAGE_SIZE);
}

/* A huge PMD mapping is used for a block of memory, where there is no table of PTEs. */
static void vmap_batch_huge(struct kunit *test)
{
	struct vmap_batch *batch = test->priv;
	unsigned long addr = (unsigned long)batch->fast->addr, i;
	const unsigned long nr = VMAP_PMD_PAGES;

	if (nr > PAGES || !vmap_may_be_huge(PMD_SIZE, VM_MAP, PAGE_KERNEL))
		kunit_skip(test, "vmap() uses no huge PMD mappings");
	for (i = 0; i < nr; i++)
		batch->pages[i] = batch->memory + i;

	/* A huge mapping of ioremap() frees the table of PTEs. */
	KUNIT_ASSERT_EQ(test, 0, vmap_page_range(addr, addr + PMD_SIZE,
						 page_to_phys(batch->memory), PAGE_KERNEL));
	vunmap_range(addr, addr + PMD_SIZE);
	if (!pmd_none(pmdp_get(pmd_off_k(addr))))
		kunit_skip(test, "ioremap() uses no huge PMD mappings");
	batch_fill_block(test, addr, true);
	swap(batch->pages[nr / 2], batch->pages[nr / 2 + 1]);
	batch_fill_block(test, addr, false);
}

/* Map a page for a moment, so that the table of PMDs exists. */
static struct vm_struct *batch_area(struct kunit *test, struct vmap_batch *batch)
{
	struct vm_struct *area = __get_vm_area_node(SPACE, SPACE, PAGE_SHIFT, VM_MAP,
						    VMALLOC_START, VMALLOC_END, NUMA_NO_NODE,
						    GFP_KERNEL, __builtin_return_address(0));
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	KUNIT_EXPECT_EQ(test, 0, vmap_page_range(addr, addr + PAGE_SIZE,
						 page_to_phys(batch->memory), PAGE_KERNEL));
	vunmap_range(addr, addr + PAGE_SIZE);

	return area;
}

static int vmap_batch_init(struct kunit *test)
{
	struct vmap_batch *batch = kunit_kzalloc(test, sizeof(*batch), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, batch);
	test->priv = batch;
	prandom_seed_state(&batch->rnd, 1);
	batch->pages = kunit_kcalloc(test, PAGES, sizeof(*batch->pages), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, batch->pages);
	batch->memory = alloc_pages(GFP_KERNEL, ilog2(PAGES));
	KUNIT_ASSERT_NOT_NULL(test, batch->memory);
	batch->slow = batch_area(test, batch);
	batch->fast = batch_area(test, batch);

	return 0;
}

static void vmap_batch_exit(struct kunit *test)
{
	struct vmap_batch *batch = test->priv;

	if (batch && batch->slow)
		free_vm_area(batch->slow);
	if (batch && batch->fast)
		free_vm_area(batch->fast);
	if (batch && batch->memory)
		__free_pages(batch->memory, ilog2(PAGES));
}

static struct kunit_case vmap_batch_cases[] = {
	KUNIT_CASE(vmap_batch_arrays),
	KUNIT_CASE(vmap_batch_ranges),
	KUNIT_CASE(vmap_batch_huge),
	{}
};

static struct kunit_suite vmap_batch_suite = {
	.name		= "vmap_batch",
	.init		= vmap_batch_init,
	.exit		= vmap_batch_exit,
	.test_cases	= vmap_batch_cases,
};

kunit_test_suite(vmap_batch_suite);
