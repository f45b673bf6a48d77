// SPDX-License-Identifier: GPL-2.0-only
/*
 * Other ways to map: ioremap(), vmalloc(), and users that unmap a part of what they
 * have mapped. The last must never get a huge PMD mapping.
 */

#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/mm.h>
#include <linux/percpu.h>
#include <linux/pfn.h>
#include <linux/preempt.h>
#include <linux/scatterlist.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL

/* Without HugeTLB, base does not write contiguous PTE blocks, but the other methods do. */
static bool vmap_groups_expected(const struct vmap_param *param)
{
	const unsigned int shift = VMAP_GROUP_SHIFT;

	return shift == PAGE_SHIFT || IS_ENABLED(CONFIG_HUGETLB_PAGE) ||
	       strcmp(param->name, "base");
}

static pgprot_t vmap_ioremap_prot(void)
{
#ifdef CONFIG_ARM64
	return pgprot_nx(pgprot_device(__pgprot(PROT_NORMAL)));
#else
	return pgprot_nx(pgprot_noncached(PAGE_KERNEL));
#endif
}

/* ioremap() of physical addresses that no device has: they are mapped, never accessed. */
void vmap_kunit_range(struct kunit *test)
{
	static const unsigned long sizes[] = {
		SZ_4K, SZ_64K, SZ_128K + SZ_4K, SZ_1M, SZ_2M, SZ_4M,
	};
	static const unsigned long offsets[] = { 0, SZ_4K, SZ_64K, SZ_1M, SZ_2M + SZ_64K };
	struct resource hole = { .name = "vmap-kunit", .flags = IORESOURCE_MEM };
	struct vmap_want want = {
		.prot = vmap_ioremap_prot(),
		.max_shift = PAGE_SHIFT,
	};
	unsigned int i, k;

	if (!vmap_groups_expected(test->param_value))
		kunit_skip(test, "base writes no contiguous PTE blocks without HugeTLB");
	if (allocate_resource(&iomem_resource, &hole, SZ_8M, SZ_16M, SZ_4G - 1, SZ_4M, NULL, NULL))
		kunit_skip(test, "no physical address space is free below 4 GB");
	if (!vmap_kunit_booted_with("nohugeiomap") && arch_vmap_pmd_supported(want.prot))
		want.max_shift = PMD_SHIFT;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		for (k = 0; k < ARRAY_SIZE(offsets); k++) {
			resource_size_t phys = hole.start + offsets[k];
			void __iomem *addr = ioremap(phys, sizes[i]);

			if (!addr) {
				KUNIT_FAIL(test, "ioremap() failed");
				break;
			}
			want.addr = (unsigned long)addr & PAGE_MASK;
			want.nr = PFN_UP(offset_in_page(phys) + sizes[i]);
			want.pfn = PHYS_PFN(phys);
			if (!vmap_kunit_verify(test, &want))
				KUNIT_FAIL(test, "%#lx bytes at offset %#lx", sizes[i], offsets[k]);
			iounmap(addr);
			vmap_kunit_expect_kind(test, want.addr, want.nr, VMAP_NONE);
		}
	}
	release_resource(&hole);
}

void vmap_kunit_vmalloc(struct kunit *test)
{
	static const unsigned long sizes[] = { SZ_64K, SZ_1M, SZ_2M, SZ_4M + SZ_64K };
	struct vmap_want want = { .prot = PAGE_KERNEL };
	unsigned int i;

	if (!vmap_groups_expected(test->param_value))
		kunit_skip(test, "base writes no contiguous PTE blocks without HugeTLB");

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		void *addr = vmalloc_huge(sizes[i], GFP_KERNEL);
		struct vm_struct *area;

		KUNIT_ASSERT_NOT_NULL(test, addr);
		area = find_vm_area(addr);
		want.addr = (unsigned long)addr;
		want.nr = area->nr_pages;
		want.pages = area->pages;
		want.max_shift = PAGE_SHIFT;
#ifdef CONFIG_HAVE_ARCH_HUGE_VMALLOC
		want.max_shift += area->page_order;
#endif
		if (vmap_kunit_booted_with("nohugevmalloc"))
			KUNIT_EXPECT_EQ(test, want.max_shift, PAGE_SHIFT);
		if (vmap_kunit_verify(test, &want)) {
			/* KASAN reports accesses to pages past the end of the requested size. */
			want.nr = sizes[i] / PAGE_SIZE;
			vmap_kunit_bytes(test, &want);
		}
		vfree(addr);
	}
}

/* Some pages of a sparse area are unmapped, and their neighbours must stay mapped. */
void vmap_kunit_sparse(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area = vmap_kunit_area(VMAP_LOOSE * PAGE_SIZE, VM_SPARSE);
	struct vmap_want rest = { .pages = memory->pages + 300, .nr = VMAP_LOOSE - 300 };
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	rest.addr = addr + 300 * PAGE_SIZE;
	vmap_kunit_fill(memory, 0, VMAP_LOOSE);
	KUNIT_EXPECT_EQ(test, vm_area_map_pages(area, addr, addr + VMAP_LOOSE * PAGE_SIZE,
						memory->pages), 0);
	vmap_kunit_expect_kind(test, addr, VMAP_LOOSE, VMAP_PAGE);
	vm_area_unmap_pages(area, addr + 100 * PAGE_SIZE, addr + 300 * PAGE_SIZE);
	vmap_kunit_expect_kind(test, addr + 100 * PAGE_SIZE, 200, VMAP_NONE);
	if (vmap_kunit_expect_kind(test, addr, 100, VMAP_PAGE) &&
	    vmap_kunit_expect_kind(test, rest.addr, rest.nr, VMAP_PAGE))
		vmap_kunit_bytes(test, &rest);
	free_vm_area(area);
}

void vmap_kunit_map_ram(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = { .pages = memory->pages };
	void *few, *many;

	vmap_kunit_fill(memory, 0, VMAP_LOOSE);
	few = vm_map_ram(memory->pages, 32, NUMA_NO_NODE);
	many = vm_map_ram(memory->pages, VMAP_LOOSE, NUMA_NO_NODE);
	KUNIT_EXPECT_NOT_NULL(test, few);
	KUNIT_EXPECT_NOT_NULL(test, many);
	if (few) {
		vmap_kunit_expect_kind(test, (unsigned long)few, 32, VMAP_PAGE);
		vm_unmap_ram(few, 32);
	}
	if (!many)
		return;
	want.addr = (unsigned long)many;
	want.nr = VMAP_LOOSE;
	if (vmap_kunit_expect_kind(test, want.addr, want.nr, VMAP_PAGE))
		vmap_kunit_bytes(test, &want);
	vm_unmap_ram(many, VMAP_LOOSE);
}

/* The percpu allocator unmaps pages and maps them again, next to pages that stay mapped. */
void vmap_kunit_parts(struct kunit *test)
{
	const unsigned long from = 37 * PAGE_SIZE, to = 300 * PAGE_SIZE;
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area = vmap_kunit_area(BLOCK * PAGE_SIZE, VM_MAP);
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = PAGE_SHIFT,
	};
	unsigned long addr;

	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	want.addr = addr;
	vmap_kunit_fill(memory, 0, BLOCK);
	KUNIT_EXPECT_EQ(test, __vmap_pages_range_noflush(addr, addr + BLOCK * PAGE_SIZE,
							 PAGE_KERNEL, memory->pages,
							 PAGE_SHIFT), 0);
	if (vmap_kunit_verify(test, &want)) {
		vunmap_range(addr + from, addr + to);
		vmap_kunit_expect_kind(test, addr, 37, VMAP_PAGE);
		vmap_kunit_expect_kind(test, addr + from, 300 - 37, VMAP_NONE);
		vmap_kunit_expect_kind(test, addr + to, BLOCK - 300, VMAP_PAGE);
		KUNIT_EXPECT_EQ(test, __vmap_pages_range_noflush(addr + from, addr + to,
								 PAGE_KERNEL, memory->pages + 37,
								 PAGE_SHIFT), 0);
		if (vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
	}
	vunmap_range(addr, addr + BLOCK * PAGE_SIZE);
	free_vm_area(area);
}

/* vmalloc() may be called with GFP_ATOMIC, so mapping single pages must not sleep. */
void vmap_kunit_atomic(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area = vmap_kunit_area(BLOCK * PAGE_SIZE, VM_MAP);
	struct vmap_want want = {
		.nr = BLOCK,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = PAGE_SHIFT,
	};
	unsigned long end;
	int err, round;

	KUNIT_ASSERT_NOT_NULL(test, area);
	want.addr = (unsigned long)area->addr;
	end = want.addr + BLOCK * PAGE_SIZE;
	vmap_kunit_fill(memory, 0, BLOCK);
	/* The first round allocates page tables. */
	for (round = 0; round < 2; round++) {
		if (round)
			preempt_disable();
		err = __vmap_pages_range_noflush(want.addr, end, PAGE_KERNEL, memory->pages,
						 PAGE_SHIFT);
		if (round)
			preempt_enable();
		KUNIT_EXPECT_EQ(test, err, 0);
		if (vmap_kunit_verify(test, &want))
			vmap_kunit_bytes(test, &want);
		vunmap_range(want.addr, end);
	}
	free_vm_area(area);
}

/* Wait until one of these freed addresses is unmapped; false if that takes too long. */
static bool vmap_wait_for_unmap(unsigned long *addrs, unsigned int nr)
{
	unsigned int i, wait;

	for (wait = 0; wait < 500; wait++) {
		for (i = 0; i < nr; i++) {
			if (addrs[i] && vmap_kunit_leaf(addrs[i]).kind == VMAP_NONE)
				return true;
		}
		msleep(20);
	}

	return false;
}

/*
 * Allocate enough for several percpu chunks, and free three of four allocations. The
 * chunks are then empty enough for the percpu allocator to unmap their free pages.
 */
void vmap_kunit_percpu(struct kunit *test)
{
	const unsigned int nr = max(24U, SZ_8M / (SZ_16K * num_possible_cpus()));
	void __percpu **some;
	unsigned long *freed;
	unsigned int cpu, i;

	some = kunit_kcalloc(test, nr, sizeof(*some), GFP_KERNEL);
	freed = kunit_kcalloc(test, nr, sizeof(*freed), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, some);
	KUNIT_ASSERT_NOT_NULL(test, freed);
	for (i = 0; i < nr; i++) {
		some[i] = __alloc_percpu(SZ_16K, PAGE_SIZE);
		if (!some[i])
			break;
		for_each_possible_cpu(cpu)
			memset(per_cpu_ptr(some[i], cpu), i + 1, SZ_16K);
	}
	KUNIT_EXPECT_EQ(test, i, nr);
	cpu = cpumask_first(cpu_possible_mask);
	for (i = 0; i < nr; i++) {
		if (!some[i] || i % 4 == 1)
			continue;
		if (is_vmalloc_addr(per_cpu_ptr(some[i], cpu)))
			freed[i] = (unsigned long)per_cpu_ptr(some[i], cpu);
		free_percpu(some[i]);
	}
	KUNIT_EXPECT_TRUE(test, vmap_wait_for_unmap(freed, nr));
	for (i = 1; i < nr; i += 4) {
		for_each_possible_cpu(cpu) {
			void *addr = some[i] ? per_cpu_ptr(some[i], cpu) : NULL;

			if (!addr)
				continue;
			KUNIT_EXPECT_NULL(test, memchr_inv(addr, i + 1, SZ_16K));
			if (is_vmalloc_addr(addr))
				vmap_kunit_expect_kind(test, (unsigned long)addr,
						       SZ_16K / PAGE_SIZE, VMAP_PAGE);
		}
		free_percpu(some[i]);
	}
}

/*
 * An area that owns its pages gets PTEs only, even where a huge PMD mapping would fit,
 * because vrealloc() may unmap and free its end.
 */
void vmap_kunit_owned(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vm_struct *area = vmap_kunit_area(BLOCK * PAGE_SIZE, VM_MAP);
	unsigned long addr, end;

	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	end = addr + BLOCK * PAGE_SIZE;
	vmap_kunit_fill(memory, 0, BLOCK);
	KUNIT_EXPECT_EQ(test, vmap_fill_area(addr, end, PAGE_KERNEL, memory->pages,
					     VM_MAP | VM_MAP_PUT_PAGES), 0);
	vmap_kunit_expect_kind(test, addr, BLOCK, VMAP_PAGE);
	vunmap_range(addr, end);
	free_vm_area(area);
}

/* vfree() drops one reference to each page, and frees the array. */
void vmap_kunit_put_pages(struct kunit *test)
{
	struct page *block = alloc_pages(GFP_KERNEL, ilog2(BLOCK));
	struct page **pages = kvmalloc_array(BLOCK, sizeof(*pages), GFP_KERNEL);
	unsigned int i;
	void *addr;

	KUNIT_ASSERT_NOT_NULL(test, block);
	KUNIT_ASSERT_NOT_NULL(test, pages);
	split_page(block, ilog2(BLOCK));
	for (i = 0; i < BLOCK; i++) {
		pages[i] = block + i;
		get_page(pages[i]);
	}
	addr = vmap(pages, BLOCK, VM_MAP | VM_MAP_PUT_PAGES, PAGE_KERNEL);
	KUNIT_EXPECT_NOT_NULL(test, addr);
	vfree(addr);
	for (i = 0; i < BLOCK; i++) {
		KUNIT_EXPECT_EQ(test, page_count(block + i), 1);
		__free_page(block + i);
	}
}

static void vmap_expect_table(struct kunit *test, struct sg_table *sgt, struct vmap_want *want)
{
	void *addr = vmap_sgt(sgt, want->prot);

	if (!addr) {
		KUNIT_FAIL(test, "vmap_sgt() failed");
		return;
	}
	KUNIT_EXPECT_EQ(test, find_vm_area(addr)->flags, VM_MAP);
	want->addr = (unsigned long)addr;
	if (vmap_kunit_verify(test, want))
		vmap_kunit_bytes(test, want);
	vunmap(addr);
	vmap_kunit_expect_kind(test, want->addr, want->nr, VMAP_NONE);
}

/* Each page of a table must be mapped at its place, however the entries are cut. */
void vmap_kunit_table(struct kunit *test)
{
	static const unsigned long strides[] = { 1, 5, 389 };
	struct vmap_memory *memory = test->priv;
	struct vmap_want want = {
		.nr = VMAP_LOOSE,
		.pages = memory->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long i, k, at;
	struct scatterlist *sg;
	struct sg_table sgt;

	for (k = 0; k < ARRAY_SIZE(strides); k++) {
		for (i = 0; i < VMAP_LOOSE; i++) {
			at = i * strides[k] % VMAP_LOOSE;
			memory->pages[i] = vmap_kunit_page(memory, at);
		}
		KUNIT_ASSERT_EQ(test, sg_alloc_table_from_pages(&sgt, memory->pages, VMAP_LOOSE, 0,
								VMAP_LOOSE * PAGE_SIZE,
								GFP_KERNEL), 0);
		vmap_expect_table(test, &sgt, &want);
		sg_free_table(&sgt);
	}

	/* Entries of 1, 2, 4, ... pages, which continue each other. */
	vmap_kunit_fill(memory, 0, VMAP_LOOSE);
	KUNIT_ASSERT_EQ(test, sg_alloc_table(&sgt, ilog2(VMAP_LOOSE), GFP_KERNEL), 0);
	for_each_sgtable_sg(&sgt, sg, i)
		sg_set_page(sg, vmap_kunit_page(memory, BIT(i) - 1), PAGE_SIZE << i, 0);
	want.nr = VMAP_LOOSE - 1;
	vmap_expect_table(test, &sgt, &want);

	sgt.sgl->length--;
	KUNIT_EXPECT_NULL(test, vmap_sgt(&sgt, PAGE_KERNEL));
	sgt.sgl->offset++;
	KUNIT_EXPECT_NULL(test, vmap_sgt(&sgt, PAGE_KERNEL));
	sg_free_table(&sgt);
}
