// SPDX-License-Identifier: GPL-2.0-only
/* Error paths: invalid pages, failed allocations, exhausted vmalloc space. */

#include <linux/error-injection.h>
#include <linux/gfp.h>
#include <linux/kprobes.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define PAGES		900UL	/* need two tables of PTEs */
#define MOST_AREAS	1000
#define MOST_SIZE	BIT(46)
#define MOST_MAPPINGS	4096
#define FAILURES	4

static void __maybe_unused vmap_fill_low(struct vmap_memory *memory)
{
	unsigned long i;

	for (i = 0; i < PAGES; i++)
		memory->pages[i] = vmap_kunit_page(memory, 16 + i);
}

static struct vm_struct *vmap_area_within(unsigned long size, unsigned long align,
					  unsigned long flags, unsigned long start,
					  unsigned long end)
{
	return __get_vm_area_node(size, align, PAGE_SHIFT, flags, start, end, NUMA_NO_NODE,
				  GFP_KERNEL | __GFP_NOWARN, __builtin_return_address(0));
}

#ifdef kunit_warning_suppress
static void vmap_bad_page_at(struct kunit *test, unsigned long i, struct page *page)
{
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area;
	unsigned long addr, end;
	int err;

	vmap_fill_low(memory);
	memory->pages[i] = page;
	area = vmap_area_within(PAGES * PAGE_SIZE, PMD_SIZE, VM_MAP, VMALLOC_START, VMALLOC_END);
	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	end = addr + PAGES * PAGE_SIZE;
	kunit_warning_suppress(test) {
		err = vmap_fill_area(addr, end, PAGE_KERNEL, memory->pages, VM_MAP);
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
	}
	KUNIT_EXPECT_LT(test, err, 0);
	vunmap_range(addr, end);
	vmap_kunit_expect_kind(test, addr, PAGES, VMAP_NONE);
	free_vm_area(area);

	kunit_warning_suppress(test) {
		KUNIT_EXPECT_NULL(test, vmap(memory->pages, PAGES, VM_MAP, PAGE_KERNEL));
		KUNIT_EXPECT_SUPPRESSED_WARNING_COUNT(test, 1);
	}
}

void vmap_kunit_bad_page(struct kunit *test)
{
	static const unsigned long places[] = { 0, 1, 100, 511, 512, PAGES - 1 };
	struct page *invalid = pfn_to_page(BIT(MAX_PHYSMEM_BITS - PAGE_SHIFT) - 1);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(places); i++) {
		vmap_bad_page_at(test, places[i], NULL);
		vmap_bad_page_at(test, places[i], invalid);
	}
}
#else
void vmap_kunit_bad_page(struct kunit *test)
{
	kunit_skip(test, "this kernel can't suppress warnings");
}
#endif

#if defined(CONFIG_FAIL_PAGE_ALLOC) && defined(CONFIG_FUNCTION_ERROR_INJECTION) && \
	defined(CONFIG_KPROBES)
static struct task_struct *vmap_victim;
static unsigned int vmap_countdown;

/* Runs when the page allocator calls should_fail_alloc_page(), and may make it fail. */
static int vmap_should_fail(struct kprobe *probe, struct pt_regs *regs)
{
	if (current != vmap_victim || !vmap_countdown || --vmap_countdown)
		return 0;
	regs_set_return_value(regs, 1);
	override_function_with_return(regs);

	return 1;
}

/*
 * A probe with a post handler is not optimised into a jump, and only a probe that is
 * not optimised can override the return value.
 */
static void vmap_after(struct kprobe *probe, struct pt_regs *regs, unsigned long flags)
{
}

static struct kprobe vmap_probe = {
	.symbol_name = "should_fail_alloc_page",
	.pre_handler = vmap_should_fail,
	.post_handler = vmap_after,
};

static void vmap_probe_remove(void *unused)
{
	unregister_kprobe(&vmap_probe);
	vmap_probe.addr = NULL;
	vmap_probe.flags = 0;
}

/*
 * Other processes must not allocate pages meanwhile, as readers of the page table
 * do: a CPU that was in the function while the probe was placed or removed has been
 * observed to jump to address 0.
 */
static void vmap_probe_place(struct kunit *test)
{
	if (vmap_kunit_beside_readers)
		kunit_skip(test, "other processes are calling the function to probe");

	vmap_countdown = 0;
	vmap_victim = current;
	KUNIT_ASSERT_EQ(test, register_kprobe(&vmap_probe), 0);
	KUNIT_ASSERT_EQ(test, kunit_add_action_or_reset(test, vmap_probe_remove, NULL), 0);
}

/*
 * vmap() with one failing page allocation must map everything or nothing. Earlier
 * mappings are kept meanwhile, so that later calls get addresses without page tables.
 */
void vmap_kunit_no_memory(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = PAGES,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned int nr, failed = 0;
	void **mapped;

	mapped = kunit_kcalloc(test, MOST_MAPPINGS, sizeof(*mapped), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, mapped);
	vmap_probe_place(test);
	vmap_fill_low(memory);
	for (nr = 0; nr < MOST_MAPPINGS && failed < FAILURES; nr++) {
		vmap_countdown = nr % 2 + 1;
		mapped[nr] = vmap(memory->pages, PAGES, VM_MAP, PAGE_KERNEL);
		if (vmap_countdown)
			continue;
		if (!mapped[nr]) {
			failed++;
			mapped[nr] = vmap(memory->pages, PAGES, VM_MAP, PAGE_KERNEL);
		}
		KUNIT_EXPECT_NOT_NULL(test, mapped[nr]);
		want.addr = (unsigned long)mapped[nr];
		if (mapped[nr] && vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
	}
	vmap_countdown = 0;
	/* With larger pages, most tables exist already, because one table maps more. */
	KUNIT_EXPECT_GE(test, failed, PAGE_SIZE == SZ_4K ? FAILURES : 1);
	while (nr--)
		vunmap(mapped[nr]);
}

/* Fail the allocation of each page table in turn, at addresses that have none yet. */
void vmap_kunit_no_table(struct kunit *test)
{
	static unsigned long fresh;
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = PAGES,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned int nth, failed = 0;
	struct vm_struct *area;
	unsigned long end;
	int err;

	vmap_probe_place(test);
	vmap_fill_low(memory);
	for (nth = 1; nth <= 8; nth++) {
		if (!fresh)
			fresh = ALIGN(VMALLOC_START / 2 + VMALLOC_END / 2, PUD_SIZE);
		fresh += PUD_SIZE;
		area = vmap_area_within(PAGES * PAGE_SIZE, PUD_SIZE, VM_MAP, fresh,
					fresh + PUD_SIZE);
		if (!area && PAGE_SIZE != SZ_4K)
			kunit_skip(test, "no address range without page tables is left");
		KUNIT_ASSERT_NOT_NULL(test, area);
		want.addr = (unsigned long)area->addr;
		end = want.addr + PAGES * PAGE_SIZE;
		vmap_countdown = nth;
		err = vmap_fill_area(want.addr, end, PAGE_KERNEL, memory->pages, VM_MAP);
		if (!vmap_countdown) {
			failed++;
			KUNIT_EXPECT_EQ(test, err, -ENOMEM);
			vunmap_range(want.addr, end);
			vmap_kunit_expect_kind(test, want.addr, PAGES, VMAP_NONE);
			err = vmap_fill_area(want.addr, end, PAGE_KERNEL, memory->pages, VM_MAP);
		} else {
			nth = 8;
		}
		vmap_countdown = 0;
		KUNIT_EXPECT_EQ(test, err, 0);
		if (!err && vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
		free_vm_area(area);
	}
	/* At least one table of PMDs, and the tables of PTEs. */
	KUNIT_EXPECT_GE(test, failed, 1 + DIV_ROUND_UP(PAGES, PTRS_PER_PTE));
}
#else
void vmap_kunit_no_memory(struct kunit *test)
{
	kunit_skip(test, "needs FAIL_PAGE_ALLOC to make allocations fail");
}

void vmap_kunit_no_table(struct kunit *test)
{
	kunit_skip(test, "needs FAIL_PAGE_ALLOC to make allocations fail");
}
#endif

/*
 * Allocate all address space that could hold a huge PMD mapping. vmalloc.c keeps
 * freed areas in pools by their number of pages, which it truncates to 32 bits. With
 * its guard page, an area of 2^46 bytes has 2^34 + 1 pages, would be looked up in the
 * pool of single pages, and would trigger a warning there. So no size is a power of
 * two: 2^46 bytes less PMD_SIZE are truncated to 2^32 - 511 pages, which have no pool.
 */
static unsigned int vmap_exhaust(struct vm_struct **areas, unsigned int nr, unsigned long size)
{
	for (; size >= PMD_SIZE; size /= 2) {
		while (nr < MOST_AREAS) {
			areas[nr] = vmap_area_within(max(size - PMD_SIZE, PMD_SIZE), PMD_SIZE,
						     VM_MAP, VMALLOC_START, VMALLOC_END);
			if (!areas[nr])
				break;
			nr++;
		}
	}

	return nr;
}

/*
 * vmap() when the only free range is large enough, but is not aligned for a huge PMD
 * mapping. If others free address space meanwhile, allocate it too and try again.
 * Readers of the page table must not run meanwhile, because they allocate large
 * buffers, and would find no space.
 */
void vmap_kunit_no_space(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = VMAP_COMPOUND,
		.pages = memory->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	struct vm_struct *hole, *plugs[2], **areas;
	unsigned long start, end;
	unsigned int nr, i, tries = 5;
	void *addr = NULL;

	if (IS_ENABLED(CONFIG_KASAN_VMALLOC))
		kunit_skip(test, "KASAN would allocate shadow memory for all vmalloc space");
	if (vmap_kunit_beside_readers)
		kunit_skip(test, "other processes allocate and free vmalloc space");
	if (want.nr * PAGE_SIZE != PMD_SIZE)
		kunit_skip(test, "the test's memory is smaller than a huge PMD mapping");
	areas = kunit_kcalloc(test, MOST_AREAS, sizeof(*areas), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, areas);
	for (i = 0; i < want.nr; i++)
		memory->pages[i] = vmap_kunit_page(memory, i);

	hole = vmap_area_within(2 * PMD_SIZE, PMD_SIZE, VM_MAP | VM_NO_GUARD,
				VMALLOC_START, VMALLOC_END);
	KUNIT_ASSERT_NOT_NULL(test, hole);
	start = (unsigned long)hole->addr;
	end = start + 2 * PMD_SIZE;
	vm_unmap_aliases();
	nr = vmap_exhaust(areas, 0, MOST_SIZE);
	free_vm_area(hole);
	plugs[0] = vmap_area_within(PAGE_SIZE, PAGE_SIZE, VM_MAP | VM_NO_GUARD,
				    start, start + PAGE_SIZE);
	plugs[1] = vmap_area_within(PAGE_SIZE, PAGE_SIZE, VM_MAP | VM_NO_GUARD,
				    end - PAGE_SIZE, end);
	do {
		vunmap(addr);
		nr = vmap_exhaust(areas, nr, PMD_SIZE);
		addr = vmap(memory->pages, want.nr, VM_MAP, PAGE_KERNEL);
	} while (IS_ALIGNED((unsigned long)addr, PMD_SIZE) && addr && --tries);

	/* Free the address space before anything else can fail. */
	while (nr--)
		free_vm_area(areas[nr]);
	for (i = 0; i < ARRAY_SIZE(plugs); i++) {
		KUNIT_EXPECT_NOT_NULL(test, plugs[i]);
		if (plugs[i])
			free_vm_area(plugs[i]);
	}

	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	KUNIT_EXPECT_FALSE(test, IS_ALIGNED(want.addr, PMD_SIZE));
	if (vmap_kunit_verify(test, &want))
		vmap_kunit_bytes(test, &want);
	vunmap(addr);
}
