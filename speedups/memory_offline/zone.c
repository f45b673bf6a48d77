// SPDX-License-Identifier: GPL-2.0-only
/* The memory of one zone, with sections that are online and free lists. */
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/memory_hotplug.h>
#include <linux/page-flags.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "zone.h"

/* Pageblocks of 2 MiB have up to 8 bits in the bitmap of their section. */
#define BITMAP		64

int offline_scan(unsigned long start, unsigned long end, unsigned long *movable_pfn);

HOSTED_ENTRY(start_isolate_page_range);
HOSTED_ENTRY(undo_isolate_page_range);
HOSTED_ENTRY(offline_scan);

/* Kernels before 7.0 take a type and flags, where others take a mode. */
typedef int memory_isolate_fn(unsigned long start, unsigned long end, unsigned int mode_or_type,
			      int flags, gfp_t gfp);
typedef void memory_undo_fn(unsigned long start, unsigned long end, unsigned int type);

struct memory_usage {
	struct mem_section_usage usage;
	unsigned long bitmap[BITMAP / sizeof(long)];
};

static struct pglist_data memory_node;
static struct memory_usage *memory_usage;
static struct mem_section *memory_sections;
static unsigned long memory_pages;
static struct zone *memory_zone;
static long memory_counts;
static unsigned long memory_reported;

void memory_count(struct zone *zone, enum zone_stat_item item, long delta)
	asm("__mod_zone_page_state");
void memory_count(struct zone *zone, enum zone_stat_item item, long delta)
{
	memory_counts += delta * (1 + item);
}

void memory_report(const struct page *page, const char *reason) asm("dump_page");
void memory_report(const struct page *page, const char *reason)
{
	memory_reported = page_to_pfn(page);
}

/* Nobody else takes a lock. */
asm(".globl _raw_spin_lock, _raw_spin_unlock\n"
    "_raw_spin_lock:\n"
    "_raw_spin_unlock: ret\n"
    ".globl _raw_spin_lock_irqsave, _raw_spin_unlock_irqrestore\n"
    "_raw_spin_lock_irqsave: xor %eax, %eax\n"
    "_raw_spin_unlock_irqrestore: ret\n");

static unsigned long sections(void)
{
	return DIV_ROUND_UP(memory_pages, PAGES_PER_SECTION);
}

/* Describe memory whose struct pages are in @memmap. */
void memory_init(void *memmap, unsigned long nr_pages)
{
	unsigned long first = pfn_to_section_nr(FIRST_PFN), roots, i;

	memory_pages = nr_pages;
	roots = SECTION_NR_TO_ROOT(first + sections()) + 1;
	mem_section = hosted_arena(roots * sizeof(*mem_section));
	memory_sections = hosted_arena(roots * SECTIONS_PER_ROOT * sizeof(*memory_sections));
	memset(memory_sections, 0, roots * SECTIONS_PER_ROOT * sizeof(*memory_sections));
	for (i = 0; i < roots; i++)
		mem_section[i] = memory_sections + i * SECTIONS_PER_ROOT;
	memory_usage = hosted_arena(sections() * sizeof(*memory_usage));
	for (i = 0; i < sections(); i++)
		memory_sections[first + i].usage = &memory_usage[i].usage;
	hosted_memmap_at(memmap, FIRST_PFN);
}

/* Let all memory be online in a zone of this type, with nothing said of its pages. */
void memory_begin(enum zone_type type)
{
	const unsigned long first = pfn_to_section_nr(FIRST_PFN);
	unsigned long i;
	int order, list;

	memset(&memory_node, 0, sizeof(memory_node));
	node_data[0] = &memory_node;
	memory_zone = &memory_node.node_zones[type];
	memory_zone->zone_pgdat = &memory_node;
	memory_zone->zone_start_pfn = FIRST_PFN;
	memory_zone->spanned_pages = memory_pages;
	for (order = 0; order < NR_PAGE_ORDERS; order++)
		for (list = 0; list < MIGRATE_TYPES; list++)
			INIT_LIST_HEAD(&memory_zone->free_area[order].free_list[list]);
	memset(memory_usage, 0, sections() * sizeof(*memory_usage));
	for (i = 0; i < sections(); i++) {
		memory_sections[first + i].section_mem_map =
			SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP | SECTION_IS_ONLINE;
		bitmap_fill(memory_usage[i].usage.subsection_map, SUBSECTIONS_PER_SECTION);
	}
	memset(pfn_to_page(FIRST_PFN), 0, memory_pages * sizeof(struct page));
	for (i = 0; i < memory_pages; i++) {
		struct page *page = pfn_to_page(FIRST_PFN + i);

		set_page_links(page, type, 0, FIRST_PFN + i);
		atomic_set(&page->_mapcount, -1);
		INIT_LIST_HEAD(&page->lru);
	}
	memory_counts = 0;
	memory_reported = 0;
}

static unsigned long *bits_of(unsigned long pfn, unsigned int *shift)
{
	const unsigned long block = pfn % PAGES_PER_SECTION / pageblock_nr_pages;
	unsigned long *bitmap = memory_usage[(pfn - FIRST_PFN) / PAGES_PER_SECTION].bitmap;

	*shift = block * NR_PAGEBLOCK_BITS % BITS_PER_LONG;
	return bitmap + block * NR_PAGEBLOCK_BITS / BITS_PER_LONG;
}

void memory_block(unsigned long pfn, enum migratetype type)
{
	unsigned int shift;
	unsigned long *bits = bits_of(pfn, &shift);

	*bits &= ~(7UL << shift);
	*bits |= (unsigned long)type << shift;
}

void memory_free(unsigned long pfn, unsigned int order)
{
	struct page *page = pfn_to_page(pfn);
	unsigned int shift;
	unsigned long *bits = bits_of(pfn, &shift);
	struct free_area *area = &memory_zone->free_area[order];

	__SetPageBuddy(page);
	set_page_private(page, order);
	list_add_tail(&page->buddy_list, &area->free_list[*bits >> shift & 7]);
	area->nr_free++;
}

void memory_use(unsigned long pfn, enum memory_use use)
{
	struct page *page = pfn_to_page(pfn);

	set_page_count(page, use != ZONE_HELD && use != USED_OFFLINE);
	switch (use) {
	case USED_LRU:
		__set_bit(PG_lru, (unsigned long *)&page->flags);
		break;
	case USED_RESERVED:
		__SetPageReserved(page);
		break;
	case USED_POISONED:
		__set_bit(PG_hwpoison, (unsigned long *)&page->flags);
		break;
	case USED_OFFLINE:
	case USED_OFFLINE_HELD:
		__SetPageOffline(page);
		break;
	default:
		break;
	}
}

int memory_isolate(enum hosted_side side, unsigned long start, unsigned long end,
		   enum memory_why why)
{
	memory_isolate_fn *isolate =
		(memory_isolate_fn *)start_isolate_page_range_of[hosted_layout][side];

#ifdef MEMORY_OFFLINE
#ifdef CONFIG_CMA
	if (why == MEMORY_WHY_CMA)
		return isolate(start, end, MIGRATE_CMA, 0, GFP_KERNEL);
#endif
	return isolate(start, end, MIGRATE_MOVABLE,
		       why == MEMORY_WHY_OFFLINE ? MEMORY_OFFLINE | REPORT_FAILURE : 0,
		       GFP_KERNEL);
#else
	static const enum pb_isolate_mode modes[MEMORY_WHYS] = {
		PB_ISOLATE_MODE_MEM_OFFLINE, PB_ISOLATE_MODE_CMA_ALLOC, PB_ISOLATE_MODE_OTHER,
	};

	return isolate(start, end, modes[why], 0, 0);
#endif
}

void memory_undo(enum hosted_side side, unsigned long start, unsigned long end)
{
	((memory_undo_fn *)undo_isolate_page_range_of[hosted_layout][side])(start, end,
									MIGRATE_MOVABLE);
}

int memory_scan(enum hosted_side side, unsigned long start, unsigned long end,
		unsigned long *found)
{
	*found = 0;
	return HOSTED_CALL(offline_scan, side, start, end, found);
}

void memory_read(struct memory_state *state)
{
	unsigned long i, j;

	memset(state, 0, sizeof(*state));
	state->zone = *memory_zone;
	for (i = 0; i < sections(); i++)
		for (j = 0; j < BITMAP / sizeof(long); j++)
			state->blocks = state->blocks * 31 + memory_usage[i].bitmap[j];
	state->counts = memory_counts;
	state->reported = memory_reported;
}
