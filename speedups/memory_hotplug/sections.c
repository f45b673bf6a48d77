// SPDX-License-Identifier: GPL-2.0-only
/*
 * The sections and nodes that add and remove memory. All sections have an entry and
 * a pageblock bitmap of their own from the start, and whether they are there is a
 * flag, as in the kernel.
 */
#include <linux/bitmap.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/migrate_mode.h>
#include <linux/mm.h>
#include <linux/percpu-refcount.h>
#include <linux/string.h>
#include <linux/vmstat.h>

#include "sections.h"
#include "wanted.h"

/* Private to mm/, in headers that kernels name differently. */
void set_zone_contiguous(struct zone *zone);
void __free_pages_core(struct page *page, unsigned int order, enum meminit_context context);

DECLARE_STATIC_KEY_MAYBE(CONFIG_DEBUG_VM, check_pages_enabled);

HOSTED_ENTRY(__free_pages_core);
HOSTED_ENTRY(check_pages_enabled);
HOSTED_ENTRY(move_pfn_range_to_zone);
HOSTED_ENTRY(remove_pfn_range_from_zone);
HOSTED_ENTRY(set_zone_contiguous);

/* Kernels before 7.0 take no last argument, and never see it in its register. */
typedef void sections_move(struct zone *zone, unsigned long pfn, unsigned long nr_pages,
			   struct vmem_altmap *altmap, int type, bool isolate);

struct section_usage {
	struct mem_section_usage usage;
	unsigned long bitmap[SECTIONS_BITMAP / sizeof(long)];
};

/* Raised by kernel code, and read by nobody here. */
unsigned long highest_memmap_pfn;

static struct pglist_data sections_nodes[SECTIONS_NODES];
static struct section_usage *sections_usage;
static unsigned long sections_nr;

/* Looks at pages of tainted sections, which ask whether a device has the page. */
static unsigned long sections_looks;

/* What get_dev_pagemap() finds: the memory of which a device has said that it is its own. */
static struct percpu_ref_data sections_ref = { .count = ATOMIC_LONG_INIT(1L << 60) };
static struct dev_pagemap sections_pagemap = {
	.ref = { .percpu_count_ptr = __PERCPU_REF_ATOMIC, .data = &sections_ref },
};

/*
 * What kernel code counts when it frees pages. GS is based at 0, so the variable itself is
 * that of the only CPU.
 */
#ifdef CONFIG_VM_EVENT_COUNTERS
DEFINE_PER_CPU(struct vm_event_state, vm_event_states);
#define EVENTS	((unsigned long *)(uintptr_t)&vm_event_states)
#else
static unsigned long sections_no_events[NR_VM_EVENT_ITEMS];
#define EVENTS	sections_no_events
#endif
#ifndef WANTED_init_mm
atomic_long_t _totalram_pages;
#endif
unsigned long totalreserve_pages;
static long sections_zone_counts, sections_reports, sections_offers;

void sections_count(struct zone *zone, enum zone_stat_item item, long delta)
	asm("__mod_zone_page_state");
void sections_count(struct zone *zone, enum zone_stat_item item, long delta)
{
	sections_zone_counts += delta * (1 + item);
}

/* What kernel code reports of a page that is not as a free one should be. */
void sections_report(const struct page *page, const char *reason) asm("dump_page");
void sections_report(const struct page *page, const char *reason)
{
	for (; *reason; reason++)
		sections_reports = sections_reports * 31 + *reason;
	sections_reports += page_to_pfn(page);
}

void sections_taint(void) asm("add_taint");
void sections_taint(void)
{
	sections_reports++;
}

asm(".globl _printk, print_modules, dump_stack, page_init_poison\n"
    "_printk:\n"
    "print_modules:\n"
    "page_init_poison:\n"
    "dump_stack: ret\n");

/* Nobody else takes a lock. */
asm(".globl _raw_spin_lock, _raw_spin_unlock\n"
    "_raw_spin_lock:\n"
    "_raw_spin_unlock: ret\n"
    ".globl _raw_spin_lock_irqsave, _raw_spin_unlock_irqrestore\n"
    "_raw_spin_lock_irqsave: xor %eax, %eax\n"
    "_raw_spin_unlock_irqrestore: ret\n");

/* Freeing reserves some memory in all zones of the nodes that are online, of which two are. */
struct pglist_data *first_online_pgdat(void)
{
	return &sections_nodes[0];
}

struct pglist_data *next_online_pgdat(struct pglist_data *pgdat)
{
	return pgdat == &sections_nodes[0] ? &sections_nodes[1] : NULL;
}

static struct mem_section *section_of(unsigned long pfn)
{
	return __pfn_to_section(pfn);
}

void *sections_pagemap_of(unsigned long pfn) asm("get_dev_pagemap");
void *sections_pagemap_of(unsigned long pfn)
{
	sections_looks++;
	return page_zonenum(pfn_to_page(pfn)) == ZONE_DEVICE ? &sections_pagemap : NULL;
}

/* Describe @nr sections, whose struct pages are in @memmap. No memory is there yet. */
void sections_init(void *memmap, unsigned long nr)
{
	unsigned long first = pfn_to_section_nr(FIRST_PFN), roots, i;
	struct mem_section *sections;

	roots = SECTION_NR_TO_ROOT(first + nr) + 1;
	mem_section = hosted_arena(roots * sizeof(*mem_section));
	sections = hosted_arena(roots * SECTIONS_PER_ROOT * sizeof(*sections));
	memset(sections, 0, roots * SECTIONS_PER_ROOT * sizeof(*sections));
	for (i = 0; i < roots; i++)
		mem_section[i] = sections + i * SECTIONS_PER_ROOT;

	sections_usage = hosted_arena(nr * sizeof(*sections_usage));
	memset(sections_usage, 0, nr * sizeof(*sections_usage));
	for (i = 0; i < nr; i++)
		sections[first + i].usage = &sections_usage[i].usage;
	sections_nr = nr;

	hosted_memmap_at(memmap, FIRST_PFN);
	sections_empty();
}

/* Take all memory away, and empty all zones. Kernel code does not learn of it. */
void sections_empty(void)
{
	unsigned long i;
	int nid, z;

	for (i = 0; i < sections_nr; i++)
		section_absent(FIRST_PFN + i * PAGES_PER_SECTION);

	memset(sections_nodes, 0, sizeof(sections_nodes));
	for (nid = 0; nid < SECTIONS_NODES; nid++) {
		node_data[nid] = &sections_nodes[nid];
		sections_nodes[nid].node_id = nid;
		for (z = 0; z < MAX_NR_ZONES; z++) {
			sections_nodes[nid].node_zones[z].zone_pgdat = &sections_nodes[nid];
			sections_nodes[nid].node_zones[z].node = nid;
		}
	}
}

void section_present(unsigned long pfn, bool early)
{
	section_of(pfn)->section_mem_map = SECTION_MARKED_PRESENT | SECTION_HAS_MEM_MAP |
					   (early ? SECTION_IS_EARLY : 0);
	bitmap_fill(section_of(pfn)->usage->subsection_map, SUBSECTIONS_PER_SECTION);
	memset(section_of(pfn)->usage + 1, 0, SECTIONS_BITMAP);
}

void section_absent(unsigned long pfn)
{
	section_of(pfn)->section_mem_map = 0;
	bitmap_zero(section_of(pfn)->usage->subsection_map, SUBSECTIONS_PER_SECTION);
}

/* Let kernel code ask for the device of each page that it looks at, once this is online. */
void section_taint(unsigned long pfn)
{
	section_of(pfn)->section_mem_map |= SECTION_TAINT_ZONE_DEVICE;
}

/* Return how many times kernel code asked since the last call of this function. */
unsigned long sections_looked(void)
{
	const unsigned long looks = sections_looks;

	sections_looks = 0;
	return looks;
}

/* Whether there is no memory in a subsection. */
void section_hole(unsigned long pfn, bool hole)
{
	assign_bit(subsection_map_index(pfn), section_of(pfn)->usage->subsection_map, !hole);
}

/* Whether a subsection is missing in a section that was there at boot. */
bool section_is_hole(unsigned long pfn)
{
	return early_section(section_of(pfn)) &&
	       !test_bit(subsection_map_index(pfn), section_of(pfn)->usage->subsection_map);
}

/* Let a device have a subsection, or take it away from the device. */
void section_device(unsigned long pfn, bool device)
{
	unsigned long i;

	section_hole(pfn, !device);
	for (i = 0; device && i < PAGES_PER_SUBSECTION; i++)
		set_page_links(pfn_to_page(pfn + i), ZONE_DEVICE, 0, pfn + i);
}

void sections_online(unsigned long pfn, unsigned long nr_pages, bool online)
{
	const unsigned long end = pfn + nr_pages;

	for (; pfn < end; pfn += PAGES_PER_SECTION) {
		if (online)
			section_of(pfn)->section_mem_map |= SECTION_IS_ONLINE;
		else
			section_of(pfn)->section_mem_map &= ~SECTION_IS_ONLINE;
	}
}

void sections_zero_counts(void)
{
	memset(EVENTS, 0, NR_VM_EVENT_ITEMS * sizeof(*EVENTS));
	atomic_long_set(&_totalram_pages, 0);
	sections_zone_counts = 0;
	sections_reports = 0;
	sections_offers = hosted_reschedules();
	/* The kernel reports no more than some pages in a minute. */
	jiffies += 61 * HZ;
}

/* Read what kernel code left besides struct pages, for @nr sections. */
void sections_read(struct sections_state *state, unsigned long pfn, unsigned int nr)
{
	unsigned int i;

	memset(state, 0, sizeof(*state));
	for (i = 0; i < nr; i++)
		memcpy(state->bitmaps[i], section_of(pfn + i * PAGES_PER_SECTION)->usage + 1,
		       SECTIONS_BITMAP);
	for (i = 0; i < SECTIONS_NODES; i++) {
		state->zones[i][0] = *sections_zone(i, ZONE_NORMAL);
		state->zones[i][1] = *sections_zone(i, ZONE_MOVABLE);
	}
	state->counts[0] = atomic_long_read(&_totalram_pages);
	state->counts[1] = sections_zone_counts;
	state->counts[2] = sections_reports;
	state->counts[3] = hosted_reschedules() - sections_offers;
	for (i = 0; i < NR_VM_EVENT_ITEMS; i++)
		state->counts[4] += (i + 1) * EVENTS[i];
}

/* Let kernel code check the struct pages of pages that it frees, as a hardened kernel does. */
void sections_checks(enum hosted_side side, bool on)
{
	atomic_t *key = &check_pages_enabled_of[hosted_layout][side]->key.enabled;

	if (atomic_read(key) == on)
		return;
	atomic_set(key, on);
	hosted_branches_apply();
}

struct zone *sections_zone(unsigned int nid, enum zone_type type)
{
	return &NODE_DATA(nid)->node_zones[type];
}

void sections_add(enum hosted_side side, struct zone *zone, unsigned long pfn,
		  unsigned long nr_pages)
{
	sections_add_as(side, zone, pfn, nr_pages, NULL, MIGRATE_MOVABLE, false);
}

void sections_add_as(enum hosted_side side, struct zone *zone, unsigned long pfn,
		     unsigned long nr_pages, struct vmem_altmap *altmap,
		     enum migratetype migratetype, bool isolate)
{
	sections_move *move = (sections_move *)move_pfn_range_to_zone_of[hosted_layout][side];

	move(zone, pfn, nr_pages, altmap, migratetype, isolate);
}

/* Give pages that were added to the page allocator, in pieces as online_pages() makes them. */
void sections_free(enum hosted_side side, unsigned long pfn, unsigned long nr_pages)
{
	const unsigned long end = pfn + nr_pages;
	unsigned int order;

	for (; pfn < end; pfn += 1UL << order) {
		order = min_t(unsigned int, MAX_PAGE_ORDER, __ffs(pfn));
		sections_free_order(side, pfn, order);
	}
}

void sections_free_order(enum hosted_side side, unsigned long pfn, unsigned int order)
{
	HOSTED_CALL(__free_pages_core, side, pfn_to_page(pfn), order, MEMINIT_HOTPLUG);
}

void sections_remove(enum hosted_side side, struct zone *zone, unsigned long pfn,
		     unsigned long nr_pages)
{
	HOSTED_CALL(remove_pfn_range_from_zone, side, zone, pfn, nr_pages);
}

/* What the kernel's own scan of the whole zone says. The zone's flag keeps its value. */
bool sections_scan(struct zone *zone)
{
	const bool flag = zone->contiguous;
	bool found;

	zone->contiguous = false;
	HOSTED_CALL(set_zone_contiguous, HOSTED_BASE, zone);
	found = zone->contiguous;
	zone->contiguous = flag;
	return found;
}
