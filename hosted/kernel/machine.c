// SPDX-License-Identifier: GPL-2.0-only
/*
 * The machine that kernel objects run on: two nodes, a device zone, and a memmap in an
 * arena of the process. Its CPUs are in cpus.c.
 *
 * WANTED_x is defined if an object refers to x and no object defines it, according to
 * nm. So one source serves kernels that need different symbols.
 */
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <generated/utsrelease.h>
#include <asm/processor.h>

#include "hosted.h"
#include "wanted.h"

enum {
	HOSTED_NODES = 2,
	/* For the sections of 1 TiB, of 128 MiB each. */
	HOSTED_SECTION_ROOTS = (1 << 13) / SECTIONS_PER_ROOT,
};

unsigned long vmemmap_base;
unsigned long page_offset_base;
unsigned long vmalloc_base;
unsigned long phys_base;
unsigned long max_pfn;
unsigned int nr_node_ids = 1;
struct cpuinfo_x86 boot_cpu_data;

#undef jiffies
unsigned long volatile jiffies = INITIAL_JIFFIES;

/*
 * Kernel code looks up sections for one bit only, which says whether the memmap of
 * this memory was made at boot. So all lookups can find the same section.
 */
#ifdef CONFIG_SPARSEMEM_EXTREME
static struct mem_section hosted_section[SECTIONS_PER_ROOT];
static struct mem_section *hosted_section_roots[HOSTED_SECTION_ROOTS];
struct mem_section **mem_section;
#endif

#ifdef WANTED_hugetlb_optimize_vmemmap_key
DEFINE_STATIC_KEY_FALSE(hugetlb_optimize_vmemmap_key);
#endif

/* How often kernel code called cond_resched(), if that is a function. */
static unsigned long hosted_offers;

#ifdef WANTED___cond_resched
int __cond_resched(void)
{
	/* CPUs may do this at the same time. */
	__atomic_fetch_add(&hosted_offers, 1, __ATOMIC_RELAXED);
	return 0;
}
#endif

unsigned long hosted_reschedules(void)
{
	return hosted_offers;
}

static struct pglist_data hosted_nodes[HOSTED_NODES];
struct pglist_data *node_data[MAX_NUMNODES];

void hosted_machine_init(void)
{
	int nid, i;

	page_offset_base = 0xffff888000000000UL;
	vmalloc_base = 0xffffc90000000000UL;

	for (nid = 0; nid < HOSTED_NODES; nid++) {
		struct pglist_data *node = &hosted_nodes[nid];

		node_data[nid] = node;
		node->node_id = nid;
		for (i = 0; i < MAX_NR_ZONES; i++) {
			node->node_zones[i].zone_pgdat = node;
#ifdef CONFIG_NUMA
			node->node_zones[i].node = nid;
#endif
		}
	}

	hosted_cpu_init(0);
	hosted_cpus_possible(1);
	hosted_cpus_online(1);
}

static unsigned char *hosted_effects;
static unsigned long hosted_effects_bytes;
static struct page *hosted_first_page;

/* Let the memmap begin at @memmap with the struct page of PFN @pfn. */
void hosted_memmap_at(void *memmap, unsigned long pfn)
{
	vmemmap_base = (unsigned long)memmap - pfn * sizeof(struct page);
	hosted_first_page = memmap;
}

void hosted_effects_at(unsigned char *effects, unsigned long bytes)
{
	hosted_effects = effects;
	hosted_effects_bytes = bytes;
}

void hosted_pageblock(const void *page, int type)
{
	unsigned long at = (const struct page *)page - hosted_first_page;

	if (at / pageblock_nr_pages < hosted_effects_bytes)
		hosted_effects[at / pageblock_nr_pages] = 1 + type;
}

void *hosted_device_zone(unsigned int nid)
{
	return &hosted_nodes[nid].node_zones[ZONE_DEVICE];
}

void hosted_early_sections(int early)
{
#ifdef CONFIG_SPARSEMEM_EXTREME
	unsigned int i;

	for (i = 0; i < SECTIONS_PER_ROOT; i++)
		hosted_section[i].section_mem_map =
			early ? SECTION_HAS_MEM_MAP | SECTION_IS_EARLY : 0;
	for (i = 0; i < HOSTED_SECTION_ROOTS; i++)
		hosted_section_roots[i] = hosted_section;
	mem_section = hosted_section_roots;
#endif
}

#ifdef CONFIG_SPARSEMEM_VMEMMAP
/* The subsections of the section with a hole; nothing reads past the end. */
static struct {
	struct mem_section_usage usage;
	unsigned long padding;
} hosted_usage;

/**
 * hosted_hole_at - make a hole of the size of a subsection
 * @pfn: a page in it
 *
 * Its section then looks hot-plugged. Sections that share its entry in the table
 * have the same hole. hosted_early_sections(1) fills it.
 */
void hosted_hole_at(unsigned long pfn)
{
	struct mem_section *section = &hosted_section[pfn_to_section_nr(pfn) &
						      SECTION_ROOT_MASK];

	bitmap_fill(hosted_usage.usage.subsection_map, SUBSECTIONS_PER_SECTION);
	clear_bit(subsection_map_index(pfn), hosted_usage.usage.subsection_map);
	section->usage = &hosted_usage.usage;
	section->section_mem_map = SECTION_HAS_MEM_MAP;
}

/**
 * hosted_plugged_sections - make all sections look hot-plugged, without holes
 *
 * hosted_early_sections(1) makes them present at boot again.
 */
void hosted_plugged_sections(void)
{
	unsigned int i;

	bitmap_fill(hosted_usage.usage.subsection_map, SUBSECTIONS_PER_SECTION);
	for (i = 0; i < SECTIONS_PER_ROOT; i++) {
		hosted_section[i].usage = &hosted_usage.usage;
		hosted_section[i].section_mem_map = SECTION_HAS_MEM_MAP;
	}
}
#endif

int hosted_sizeof_page(void)
{
	return sizeof(struct page);
}

const char *hosted_release(void)
{
	return UTS_RELEASE;
}
