// SPDX-License-Identifier: GPL-2.0-only
/*
 * The memory that __populate_section_memmap() allocates, and the page tables that it
 * makes. All of it is one piece of memory, which serves as the direct map: struct pages
 * of its own pages first, then the top page table, then what was allocated, in order.
 * So whatever kernel code does can be compared byte for byte.
 *
 * Kernel code believes that it runs early, and takes pages from memblock, because the
 * page allocator of the linked objects has no memory.
 */
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pgtable.h>
#include <linux/string.h>

#include "hosted.h"
#include "sections.h"
#include "vmemmap.h"

struct page *__populate_section_memmap(unsigned long pfn, unsigned long nr_pages, int nid,
				       struct vmem_altmap *altmap, struct dev_pagemap *pgmap);
HOSTED_ENTRY(__populate_section_memmap);
HOSTED_ENTRY(vmemmap_populate_basepages);

static char *vmemmap_start, *vmemmap_next, *vmemmap_end;
static unsigned long vmemmap_allowed, vmemmap_node_bits;
static unsigned long vmemmap_elsewhere, vmemmap_page_offset;

/* Let kernel code allocate from @memory, which begins with a multiple of 2 MiB. */
void vmemmap_memory(void *memory, unsigned long bytes)
{
	vmemmap_start = memory;
	vmemmap_end = memory + ALIGN_DOWN(bytes, PAGE_SIZE);
}

/* No page table is there, and no memory is in use. Other memmaps are out of reach. */
void vmemmap_begin(void)
{
	const unsigned long pages = (vmemmap_end - vmemmap_start) / PAGE_SIZE;

	if (!vmemmap_elsewhere) {
		vmemmap_elsewhere = vmemmap_base;
		vmemmap_page_offset = page_offset_base;
	}
	hosted_memmap_at(vmemmap_start, 0);
	page_offset_base = (unsigned long)vmemmap_start;
	vmemmap_next = vmemmap_start + PAGE_ALIGN(pages * sizeof(struct page));
	vmemmap_allowed = ULONG_MAX;
	vmemmap_node_bits = 0;

	init_mm.pgd = (pgd_t *)vmemmap_next;
	memset(init_mm.pgd, 0, PAGE_SIZE);
	vmemmap_next += PAGE_SIZE;
}

/* Go back to the memmap that was in use before vmemmap_begin(). */
void vmemmap_leave(void)
{
	if (!vmemmap_elsewhere)
		return;
	page_offset_base = vmemmap_page_offset;
	hosted_memmap_at((struct page *)vmemmap_elsewhere + FIRST_PFN, FIRST_PFN);
	vmemmap_elsewhere = 0;
}

/**
 * vmemmap_populate_device - make the memmap of a part of a device
 * @side: whose code does it
 * @pfn: first page of the part
 * @nr_pages: number of pages
 * @device_pfn: first page of the device
 * @shift: order of its compound pages
 * @nid: node of the device
 *
 * Return: whether there was enough memory.
 */
bool vmemmap_populate_device(enum hosted_side side, unsigned long pfn, unsigned long nr_pages,
			     unsigned long device_pfn, unsigned int shift, int nid)
{
	struct dev_pagemap pgmap = {
		.type = MEMORY_DEVICE_GENERIC,
		.vmemmap_shift = shift,
		.range = { .start = PFN_PHYS(device_pfn) },
		.nr_range = 0,
	};

	return HOSTED_CALL(__populate_section_memmap, side, pfn, nr_pages, nid, NULL, &pgmap);
}

/* The same for memory of which no page shares its struct pages with another one. */
bool vmemmap_populate_plain(enum hosted_side side, unsigned long pfn, unsigned long nr_pages,
			    int nid)
{
	const unsigned long start = (unsigned long)pfn_to_page(pfn);

	return !HOSTED_CALL(vmemmap_populate_basepages, side, start,
			    start + nr_pages * sizeof(struct page), nid, NULL);
}

/* Let so many allocations succeed, and all after those fail. */
void vmemmap_allocations(unsigned long nr)
{
	vmemmap_allowed = nr;
}

/* Return how many bytes of the memory are in use. */
unsigned long vmemmap_used(void)
{
	return vmemmap_next - vmemmap_start;
}

/* Return a bit for each node of a page that was verified. */
unsigned long vmemmap_nodes(void)
{
	return vmemmap_node_bits;
}

/* Return the PFN of page @at of the struct pages that begin with that of @pfn. */
unsigned long vmemmap_pfn(unsigned long pfn, unsigned int at)
{
	const unsigned long addr = (unsigned long)pfn_to_page(pfn) + at * PAGE_SIZE;

	return pte_pfn(*virt_to_kpte(addr));
}

bool vmemmap_slab(void) asm("slab_is_available");
bool vmemmap_slab(void)
{
	return false;
}

void *vmemmap_alloc(phys_addr_t size, phys_addr_t align) asm("memblock_alloc_try_nid_raw");
void *vmemmap_alloc(phys_addr_t size, phys_addr_t align)
{
	struct page *page;
	void *memory;

	if (!vmemmap_allowed)
		return NULL;
	vmemmap_allowed--;
	if (size != PAGE_SIZE || vmemmap_next + size > vmemmap_end)
		hosted_die("the memory of check_vmemmap.c or bench.c is too small");
	memory = vmemmap_next;
	vmemmap_next += size;

	page = virt_to_page(memory);
	memset(page, 0, sizeof(*page));
	atomic_set(&page->_mapcount, -1);
	set_page_count(page, 1);
	return memory;
}

/* Pages lie on three nodes in turn. */
int vmemmap_nid(unsigned long pfn, unsigned long *start_pfn, unsigned long *end_pfn)
	asm("memblock_search_pfn_nid");
int vmemmap_nid(unsigned long pfn, unsigned long *start_pfn, unsigned long *end_pfn)
{
	*start_pfn = pfn;
	*end_pfn = pfn + 1;
	return pfn % 3;
}

/* Kernel code asks for each page that it verifies. All nodes are near. */
int vmemmap_distance(int from, int to) asm("__node_distance");
int vmemmap_distance(int from, int to)
{
	vmemmap_node_bits |= 1UL << (4 * to + from);
	return LOCAL_DISTANCE;
}

/* Kernels before 7.3 ask for memory that was set aside at boot. There is none. */
asm(".globl sparse_buffer_alloc\n"
    "sparse_buffer_alloc: xor %eax, %eax\n"
    "ret\n");
