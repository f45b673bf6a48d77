// SPDX-License-Identifier: GPL-2.0-only
/* Where something ends within a mapping: page tables, or the memory of a zone or a node. */

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define PLACES	8

/* On both sides of a boundary of the page table, mapped from page @from of the area on. */
static void vmap_map_across(struct kunit *test, struct vm_struct *area, unsigned long from,
			    unsigned long nr)
{
	struct vmap_room *room = test->priv;
	struct vmap_want want = {
		.addr = (unsigned long)area->addr + from * PAGE_SIZE,
		.nr = nr,
		.pages = room->pages,
		.prot = PAGE_KERNEL,
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long end = want.addr + nr * PAGE_SIZE;

	KUNIT_EXPECT_EQ(test, vmap_map_pages(want.addr, end, PAGE_KERNEL, room->pages, VM_MAP), 0);
	if (vmap_kunit_verify(test, &want))
		vmap_kunit_bytes(test, &want);
	vunmap_range(want.addr, end);
	vmap_kunit_is(test, want.addr, nr, VMAP_NONE);
}

static void vmap_cross(struct kunit *test, unsigned long size)
{
	/* The middle may well be a boundary of more than this table. */
	unsigned long at = ALIGN_DOWN(VMALLOC_START / 2 + VMALLOC_END / 2, size) + size;
	struct vm_struct *area = NULL;
	unsigned int i;

	if (at <= VMALLOC_START || at >= VMALLOC_END - PLACES * size)
		kunit_skip(test, "no such boundary among the addresses of vmalloc()");
	for (i = 0; i < PLACES && !area; i++, at += size)
		area = __get_vm_area_node(2 * PMD_SIZE, PMD_SIZE, PAGE_SHIFT,
					  VM_MAP | VM_NO_GUARD, at - PMD_SIZE, at + PMD_SIZE,
					  NUMA_NO_NODE, GFP_KERNEL | __GFP_NOWARN,
					  __builtin_return_address(0));
	KUNIT_ASSERT_NOT_NULL(test, area);
	vmap_map_across(test, area, 0, 2 * BLOCK);
	vmap_map_across(test, area, 3, 2 * BLOCK - 3);
	vmap_map_across(test, area, BLOCK - 16, 40);
	free_vm_area(area);
}

/* Tables of all levels end within the mapping. */
void vmap_kunit_boundary(struct kunit *test)
{
	if (BLOCK * PAGE_SIZE != PMD_SIZE)
		kunit_skip(test, "the test's memory is smaller than a PMD leaf");
	vmap_kunit_fill(test->priv, 0, 2 * BLOCK);
	vmap_cross(test, PUD_SIZE);
	vmap_cross(test, P4D_SIZE);
}

/* Whether the memory around a PFN is all there, and not all of one zone of one node. */
static bool vmap_is_border(unsigned long border)
{
	unsigned long pfn;

	if (border < VMAP_LOOSE / 2)
		return false;
	for (pfn = border - VMAP_LOOSE / 2; pfn < border + VMAP_LOOSE / 2; pfn++) {
		if (!pfn_valid(pfn))
			return false;
	}

	return page_zone(pfn_to_page(border - 1)) != page_zone(pfn_to_page(border));
}

/* Others have this memory: it is only mapped, never touched. */
static void vmap_map_border(struct kunit *test, unsigned long border, unsigned long before,
			    unsigned long nr)
{
	struct vmap_room *room = test->priv;
	struct vmap_want want = {
		.nr = nr,
		.pages = room->pages,
		.prot = pgprot_nx(PAGE_KERNEL),
		.max_shift = vmap_kunit_shift(test->param_value, PAGE_KERNEL),
	};
	unsigned long i;
	void *addr;

	for (i = 0; i < nr; i++)
		room->pages[i] = pfn_to_page(border - before + i);
	addr = vmap(room->pages, nr, VM_MAP, PAGE_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, addr);
	want.addr = (unsigned long)addr;
	if (!vmap_kunit_verify(test, &want))
		KUNIT_FAIL(test, "%lu pages, %lu before the border %#lx", nr, before, border);
	vunmap(addr);
	vmap_kunit_is(test, want.addr, nr, VMAP_NONE);
}

/* A run goes on where memory of another zone follows, as addresses do. */
void vmap_kunit_border(struct kunit *test)
{
	unsigned int seen = 0;
	struct zone *zone;

	for_each_populated_zone(zone) {
		unsigned long border = zone->zone_start_pfn;

		if (!vmap_is_border(border))
			continue;
		vmap_map_border(test, border, VMAP_LOOSE / 2, VMAP_LOOSE);
		vmap_map_border(test, border, 7, 40);
		vmap_map_border(test, border, 1, 2);
		seen++;
	}
	if (!seen)
		kunit_skip(test, "no two zones have memory next to each other");
}
