// SPDX-License-Identifier: GPL-2.0-only
/*
 * Compare the memmap of gigantic pages with what the kernel's own code leaves: every byte of
 * it and of a margin around it, for all combinations of the lists below. One in sixteen of
 * those with pages of 1 GiB runs, because they take 16 MiB each.
 */
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/string.h>
#include <linux/version.h>

#include "check.h"
#include "report.h"

HOSTED_ENTRY(gigantic_reserve);
HOSTED_ENTRY(gigantic_begin);
HOSTED_ENTRY(gigantic_end);
HOSTED_ENTRY(memmap_init_zone_device);

enum {
	MARGIN		= 64,	/* struct pages before and after; a page of the memmap */
	LARGEST		= 18,
	MOST		= 3,	/* pages at a time */
	STEPPED_ORDER	= MAX_PAGE_ORDER + 1,	/* each instruction takes a signal */
};

static const enum zone_type zones[] = { 0, ZONE_NORMAL, ZONE_MOVABLE };
static const unsigned int orders[] = { 6, 7, 9, 12, LARGEST };

/*
 * How many struct pages the first call makes: as many as in the kernel, more, and fewer, with
 * the boundary at the start and the end of a page of the memmap and of the compound.
 */
static const unsigned long kept[] = { 64, 1, 3, 63, 65, 127, 128, ~0UL };
/* How many struct pages are left out at the end. */
static const unsigned long left[] = { 0, 1, 63, 64, 65 };

/*
 * What was in the memmap: nothing, anything, or what debugging writes into it. With debugging,
 * Linux 6.12 stops at the latter two, because it clears a flag of each struct page first.
 */
static const u8 contents[] = {
	0x00,
#if !defined(CONFIG_DEBUG_VM_PGFLAGS) || LINUX_VERSION_CODE >= KERNEL_VERSION(7, 0, 0)
	0x5a, 0xff,
#endif
};

/* Pages of devices: small ones, the largest that are not streamed, and some that are. */
static const unsigned int device_orders[] = {
	9, MAX_PAGE_ORDER, MAX_PAGE_ORDER + 1, LARGEST
};

struct combination {
	enum memory_type type;	/* of a device, or 0 for pages of hugetlb */
	bool altmap;		/* the device has its memmap, too */
	enum zone_type zone;
	unsigned int order, nr;
	unsigned long kept, end;
	bool shared;		/* HVO shares the others, so nobody may write them */
	int nid;
	u8 content;
	enum hosted_side side;
};

static struct page *memmap;

static void bind(const struct combination *c)
{
	const unsigned long nr = (unsigned long)c->nr << c->order, before = 1UL << c->order;
	const unsigned long first = FIRST_PFN - (c->altmap ? before : 0);
	static struct dev_pagemap pgmap;

	memset(&pgmap, 0, sizeof(pgmap));
	pgmap.type = c->type;
	pgmap.vmemmap_shift = c->order;
	pgmap.nr_range = 1;
	pgmap.range.start = PFN_PHYS(first);
	pgmap.range.end = PFN_PHYS(FIRST_PFN + nr) - 1;
	if (c->altmap) {
		pgmap.flags = PGMAP_ALTMAP_VALID;
		pgmap.altmap.base_pfn = first;
		pgmap.altmap.free = before;
	}
	HOSTED_CALL(memmap_init_zone_device, c->side, hosted_device_zone(c->nid), first,
		    FIRST_PFN + nr - first, &pgmap);
}

static void make(void *data)
{
	const struct combination *c = data;
	unsigned long i, pfn;

	if (c->type) {
		bind(c);
		return;
	}
	for (i = 0; i < c->nr; i++) {
		pfn = FIRST_PFN + (i << c->order);
		HOSTED_CALL(gigantic_begin, c->side, pfn, c->order, c->kept);
	}
	for (i = 0; !c->shared && i < c->nr; i++) {
		pfn = FIRST_PFN + (i << c->order);
		HOSTED_CALL(gigantic_end, c->side, pfn, c->order, c->kept, c->end);
	}
}

static void prepare(const struct combination *c, unsigned long nr)
{
	unsigned long i;

	memset(memmap, c->content, nr * sizeof(struct page));
	for (i = 0; !c->type && i < c->nr; i++)
		HOSTED_CALL(gigantic_reserve, c->side, FIRST_PFN + (i << c->order), c->zone,
			    c->nid);
}

static void describe(struct hosted_check *check, const struct combination *c, const char *what)
{
	hosted_format(check->text, sizeof(check->text),
		      "order %u, %u pages, device type %u, zone %u, node %d, first %lu, end %lu%s%s, content %#x: %s",
		      c->order, c->nr, c->type, c->zone, c->nid, c->kept, c->end,
		      c->shared ? ", shared" : "", c->altmap ? ", altmap" : "", c->content,
		      what);
}

/* Streaming stores of 8 bytes for each copy of the first struct page of a page. */
static unsigned long stores(unsigned long start, unsigned long end)
{
	start = ALIGN(start, GIGANTIC_KEPT);
	return start < end ? (end - start - 1) * sizeof(struct page) / 8 : 0;
}

/*
 * Whole pages of the memmap are streamed, no others, and all streaming stores are drained. Those
 * of hugetlb are streamed after the last step only, and tails of a device may be shared.
 */
static bool drains(struct hosted_check *check, struct combination *c)
{
	unsigned long expected = 0;
	struct hosted_trace trace = {};
	char what[80];

	if (c->type)
		expected = c->order > MAX_PAGE_ORDER ? stores(1, 1UL << c->order) : 0;
	else
		expected = stores(1, c->kept) + (c->shared ? 0 : stores(c->kept, c->end));
	hosted_single_step(make, c, &trace);
	check->stepped++;
	check->streamed += trace.streamed;
	if (trace.undrained)
		describe(check, c, "streaming stores are not drained on return");
	if (trace.undrained && hosted_is_posted(c->side))
		hosted_undrained(check->text);
	if (trace.undrained || hosted_is_posted(c->side))
		return hosted_is_posted(c->side);
	if (trace.streamed == c->nr * expected || (!c->altmap && !trace.streamed))
		return true;
	hosted_format(what, sizeof(what), "%lu streaming stores instead of %lu", trace.streamed,
		      c->nr * expected);
	describe(check, c, what);
	return false;
}

static bool compare(struct hosted_check *check, struct combination *c, u64 *base)
{
	unsigned long nr = MARGIN + ((unsigned long)c->nr << c->order) + MARGIN, i;
	unsigned long words = nr * sizeof(struct page) / sizeof(u64);
	const u64 *ours = (const u64 *)memmap;
	const unsigned long per_page = sizeof(struct page) / sizeof(u64);
	char what[80];

	describe(check, c, "");
	c->side = HOSTED_BASE;
	prepare(c, nr);
	make(c);
	memcpy(base, memmap, nr * sizeof(struct page));
	c->side = hosted_checked(check);
	prepare(c, nr);
	make(c);
	check->combinations++;
	check->runs++;
	check->bytes += nr * sizeof(struct page);
	for (i = 0; i < words; i++) {
		if (ours[i] == base[i])
			continue;
		hosted_format(what, sizeof(what), "struct page %ld, word %lu: base %#lx, patched %#lx",
			      (long)(i / per_page) - MARGIN, i % per_page, (unsigned long)base[i],
			      (unsigned long)ours[i]);
		describe(check, c, what);
		return false;
	}
	if (c->order > STEPPED_ORDER || c->zone != ZONE_NORMAL || c->nr > 1 ||
	    c->type > MEMORY_DEVICE_PRIVATE)
		return true;
	prepare(c, nr);
	return drains(check, c);
}

/* Select an index of each list by the digits of @number. */
static bool pick(unsigned long number, struct combination *c)
{
	unsigned long pages;

	c->zone = zones[number % ARRAY_SIZE(zones)];
	number /= ARRAY_SIZE(zones);
	c->order = orders[number % ARRAY_SIZE(orders)];
	number /= ARRAY_SIZE(orders);
	c->nr = 1 + number % MOST;
	number /= MOST;
	c->shared = number % 2;
	number /= 2;
	pages = 1UL << c->order;
	c->kept = min(kept[number % ARRAY_SIZE(kept)], pages);
	number /= ARRAY_SIZE(kept);
	c->end = pages - min(left[number % ARRAY_SIZE(left)], pages - c->kept);
	number /= ARRAY_SIZE(left);
	return !number;
}

static bool check_devices(struct hosted_check *check, u64 *base)
{
	struct combination c = { .zone = ZONE_NORMAL };
	unsigned int i, early;

	for (i = 0; i < 2 * 2 * 2 * ARRAY_SIZE(device_orders); i++) {
		c.nr = 1 + i % 2;
		c.altmap = i / 2 % 2;
		early = i / 4 % 2;
		c.order = device_orders[i / 8];
		c.nid = i % 2;
		c.content = contents[i % ARRAY_SIZE(contents)];
		hosted_layout = i % HOSTED_LAYOUTS;
		hosted_early_sections(early);
		for (c.type = MEMORY_DEVICE_PRIVATE; c.type <= MEMORY_DEVICE_PCI_P2PDMA; c.type++)
			if ((c.order <= STEPPED_ORDER || (i + c.type) % check->stride == 0) &&
			    !compare(check, &c, base))
				return false;
	}
	return true;
}

int gigantic_check(struct hosted_check *check)
{
	const unsigned long bytes = ((MOST << LARGEST) + 2 * MARGIN) * sizeof(struct page);
	static u64 *base;
	struct combination c = {};
	unsigned long i, spread;

	if (!base) {
		memmap = hosted_arena(bytes);
		base = hosted_arena(bytes);
	}
	hosted_memmap_at(memmap, FIRST_PFN - MARGIN);
	for (i = 0; pick(i, &c); i += check->stride) {
		/* These vary within the combinations instead of multiplying their number. */
		spread = ((i + 1) * 0x9e3779b97f4a7c15UL) >> 40;
		if (c.order == LARGEST && spread / 64 % 16)
			continue;
		c.nid = spread % 2;
		c.content = contents[spread / 2 % ARRAY_SIZE(contents)];
		hosted_layout = spread / 16 % HOSTED_LAYOUTS;
		if (!compare(check, &c, base))
			return -1;
	}
	return check_devices(check, base) ? 0 : -1;
}
