// SPDX-License-Identifier: GPL-2.0-only
/*
 * Initialise the memmap of device memory in batches.
 *
 * All descriptors that one call of memmap_init_zone_device() writes come from
 * very few images: one for the heads (or for every page, without compounds),
 * one for the tails of a compound, and the one or two tails that hold the
 * state of the folio.  The kernel's own slow functions make each image once,
 * in place, on a real descriptor; everything else is a repetition of it.
 *
 * - Bytes: the memmap is the one that the slow path leaves, padding included.
 * - Bounds: exactly the descriptors that the slow path writes are written.
 *   Those of an altmap's own memory lie in front of the range and stay as
 *   memmap_init_range() made them.
 * - Ordering: when zone_device_memmap_init() returns, every descriptor is
 *   visible to whoever sees a later store of this CPU.
 * - Sleeping: may reschedule at section boundaries, as the slow path does.
 * - Left to the slow path: calls with the page_ref_set tracepoint on, since a
 *   copied refcount raises no event, and KASAN and KMSAN builds, which cannot
 *   see streaming stores.
 */

#include "zone_device_internal.h"

#if defined(SECTION_IN_PAGE_FLAGS) || defined(WANT_PAGE_VIRTUAL)
#define ZONE_DEVICE_DESCRIPTORS_DIFFER	true
#else
#define ZONE_DEVICE_DESCRIPTORS_DIFFER	false
#endif

/* For a machine that does not describe its caches. */
#define ZONE_DEVICE_DEFAULT_LLC		(32UL << 20)

/*
 * Head and first two tails are stored through the cache: preparing a compound
 * reads and changes them, and a line that was just streamed is a long way off.
 */
#define ZONE_DEVICE_PLAIN		3UL

static bool zone_device_copy_usable(void)
{
	return true;
}

static void zone_device_copy_stamp(struct page *page, const struct page *tmpl,
				   unsigned long nr)
{
	for (; nr; nr--, page++)
		memcpy(page, tmpl, sizeof(*page));
}

static const struct zone_device_method zone_device_copy = {
	.name	= "copy",
	.usable	= zone_device_copy_usable,
	.stamp	= zone_device_copy_stamp,
};

static const struct zone_device_method *const zone_device_methods[] = {
	ARCH_ZONE_DEVICE_METHODS
	&zone_device_copy,
};

/* What the parameter can name besides a method. */
static const struct zone_device_method zone_device_auto = { .name = "auto" };
static const struct zone_device_method zone_device_base = { .name = "base" };

static const struct zone_device_method *zone_device_chosen = &zone_device_auto;

/**
 * zone_device_method_at - enumerate the methods
 * @i: index, from 0
 *
 * Return: the method, usable on this machine or not, or NULL past the last.
 */
const struct zone_device_method *zone_device_method_at(unsigned int i)
{
	return i < ARRAY_SIZE(zone_device_methods) ? zone_device_methods[i] : NULL;
}

/**
 * zone_device_set_method - choose how later calls repeat descriptors
 * @name: a method, "auto" for the kernel's choice, "base" for the slow path
 *
 * Calls under way finish with the method that they began with.
 *
 * Return: 0, -EINVAL for an unknown name, -EOPNOTSUPP for a method that this
 * CPU or this size of struct page does not allow.
 */
int zone_device_set_method(const char *name)
{
	const struct zone_device_method *method = NULL;
	unsigned int i;

	if (sysfs_streq(name, zone_device_auto.name))
		method = &zone_device_auto;
	else if (sysfs_streq(name, zone_device_base.name))
		method = &zone_device_base;

	for (i = 0; !method && i < ARRAY_SIZE(zone_device_methods); i++) {
		if (!sysfs_streq(name, zone_device_methods[i]->name))
			continue;
		method = zone_device_methods[i];
		if (!method->usable())
			return -EOPNOTSUPP;
	}

	if (!method)
		return -EINVAL;

	WRITE_ONCE(zone_device_chosen, method);
	return 0;
}

static int zone_device_param_set(const char *val, const struct kernel_param *kp)
{
	return val ? zone_device_set_method(val) : -EINVAL;
}

static int zone_device_param_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%s\n", READ_ONCE(zone_device_chosen)->name);
}

static const struct kernel_param_ops zone_device_param_ops = {
	.set = zone_device_param_set,
	.get = zone_device_param_get,
};

module_param_cb(method, &zone_device_param_ops, NULL, 0644);
MODULE_PARM_DESC(method, "How device memory's memmap is written: auto, base, copy or a streaming method of this CPU");

/* The largest cache that this CPU writes through. */
static unsigned long zone_device_llc(void)
{
	struct cpu_cacheinfo *ci = get_cpu_cacheinfo(raw_smp_processor_id());
	unsigned long size = 0;
	unsigned int i;

	if (ci && ci->info_list) {
		for (i = 0; i < ci->num_leaves; i++)
			size = max_t(unsigned long, size, ci->info_list[i].size);
	}

	return size ?: ZONE_DEVICE_DEFAULT_LLC;
}

/*
 * A memmap that fits into the cache is better left there: it is likely read
 * next, and streaming would have to evict what it may already hold of it.
 */
static const struct zone_device_method *zone_device_pick(unsigned long bytes)
{
	const struct zone_device_method *method = READ_ONCE(zone_device_chosen);
	unsigned int i;

	if (method == &zone_device_base)
		return NULL;
	if (ZONE_DEVICE_DESCRIPTORS_DIFFER)
		return &zone_device_copy;
	if (method != &zone_device_auto)
		return method->usable() ? method : &zone_device_copy;
	if (bytes <= zone_device_llc())
		return &zone_device_copy;

	for (i = 0; i < ARRAY_SIZE(zone_device_methods); i++) {
		if (zone_device_methods[i]->usable())
			return zone_device_methods[i];
	}

	return &zone_device_copy;
}

/* One call of memmap_init_zone_device(). */
struct zone_device_run {
	const struct zone_device_method *method;
	unsigned long credit;	/* descriptors until @method has to pause */
	bool begun;
	unsigned int order;
	struct page head;	/* a copy, never given to the slow functions: */
	struct page tail;	/* their checks take it for part of the memmap */
};

static void zone_device_pause(struct zone_device_run *run)
{
	if (run->begun && run->method->end)
		run->method->end();
	run->begun = false;
	run->credit = 0;
}

static void zone_device_resume(struct zone_device_run *run)
{
	if (run->method->begin)
		run->method->begin();
	run->begun = true;
	run->credit = ZONE_DEVICE_BATCH;
}

/* What depends on the PFN is put into the template: the copy stays one write. */
static void zone_device_refresh(struct page *tmpl, unsigned long pfn)
{
	set_page_section_from_pfn(tmpl, pfn);
#ifdef WANT_PAGE_VIRTUAL
	set_page_address(tmpl, __va(PFN_PHYS(pfn)));
#endif
}

static void zone_device_stamp(struct zone_device_run *run, struct page *page,
			      struct page *tmpl, unsigned long nr)
{
	unsigned long n;

	if (ZONE_DEVICE_DESCRIPTORS_DIFFER) {
		for (; nr; nr--, page++) {
			zone_device_refresh(tmpl, page_to_pfn(page));
			memcpy(page, tmpl, sizeof(*page));
		}
		return;
	}

	for (; nr; nr -= n, page += n) {
		if (!run->credit) {
			zone_device_pause(run);
			zone_device_resume(run);
		}
		n = min(nr, run->credit);
		run->method->stamp(page, tmpl, n);
		run->credit -= n;
	}
}

static void zone_device_put(struct page *page, struct page *tmpl)
{
	zone_device_refresh(tmpl, page_to_pfn(page));
	memcpy(page, tmpl, sizeof(*page));
}

static void zone_device_fill_compound(struct zone_device_run *run,
				      unsigned long pfn, unsigned long nr)
{
	struct page *head = pfn_to_page(pfn);
	unsigned long meta = min(nr, ZONE_DEVICE_META_TAILS + 1);
	unsigned long plain = min(nr, ZONE_DEVICE_PLAIN);
	unsigned long i;

	zone_device_link_tail(&run->tail, head, run->order);

	zone_device_put(head, &run->head);
	__SetPageHead(head);
	for (i = 1; i < meta; i++)
		zone_device_put(head + i, &run->tail);
	prep_compound_head(head, run->order);
	for (; i < plain; i++)
		zone_device_put(head + i, &run->tail);
	run->credit -= min(run->credit, plain);

	zone_device_stamp(run, head + plain, &run->tail, nr - plain);
	zone_device_mark_pageblocks(pfn, nr);
}

static void zone_device_fill_compounds(struct zone_device_run *run,
				       unsigned long pfn, unsigned long end_pfn,
				       struct dev_pagemap *pgmap)
{
	struct vmem_altmap *altmap = pgmap_altmap(pgmap);

	for (; pfn < end_pfn; pfn += pgmap_vmemmap_nr(pgmap)) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION)) {
			zone_device_pause(run);
			cond_resched();
		}
		zone_device_fill_compound(run, pfn,
					  zone_device_compound_nr(pfn, altmap, pgmap));
	}
}

static void zone_device_fill_pages(struct zone_device_run *run,
				   unsigned long pfn, unsigned long end_pfn)
{
	unsigned long next;

	for (; pfn < end_pfn; pfn = next) {
		if (IS_ALIGNED(pfn, PAGES_PER_SECTION)) {
			zone_device_pause(run);
			cond_resched();
		}
		next = min(end_pfn, ALIGN(pfn + 1, PAGES_PER_SECTION));
		zone_device_stamp(run, pfn_to_page(pfn), &run->head, next - pfn);
		zone_device_mark_pageblocks(pfn, next - pfn);
	}
}

/**
 * zone_device_memmap_init - write the descriptors of a range of device memory
 * @start_pfn: first PFN of the range, behind the memory that an altmap uses
 * @end_pfn: PFN behind the range
 * @zone_idx: ZONE_DEVICE
 * @nid: node of the memory
 * @pgmap: type, altmap and compound order of the memory
 *
 * The caller is memmap_init_zone_device(), which has checked @zone_idx and
 * @pgmap; the memmap of the range is mapped, and nobody else uses it yet.
 *
 * Context: process context, may sleep.
 * Return: the first PFN that is left to the slow path: @end_pfn when all is
 * done, @start_pfn when this call is the slow path's, or there is nothing to do.
 */
unsigned long zone_device_memmap_init(unsigned long start_pfn,
				      unsigned long end_pfn,
				      unsigned long zone_idx, int nid,
				      struct dev_pagemap *pgmap)
{
	unsigned int per_compound = pgmap_vmemmap_nr(pgmap);
	struct page *head = pfn_to_page(start_pfn);
	struct zone_device_run run;
	unsigned long nr;

	/* The seeds below would be written behind an empty range. */
	if (start_pfn >= end_pfn)
		return start_pfn;

	if (IS_ENABLED(CONFIG_KASAN) || IS_ENABLED(CONFIG_KMSAN))
		return start_pfn;

	if (page_ref_tracepoint_active(page_ref_set))
		return start_pfn;

	nr = end_pfn - start_pfn;
	if (per_compound > 1)
		nr = DIV_ROUND_UP(nr, per_compound) *
		     zone_device_compound_nr(start_pfn, pgmap_altmap(pgmap), pgmap);

	run.method = zone_device_pick(nr * sizeof(struct page));
	if (!run.method)
		return start_pfn;

	run.order = pgmap->vmemmap_shift;
	run.credit = 0;
	run.begun = false;

	/* Before anything makes a compound of it: the template has no PG_head. */
	__init_zone_device_page(head, start_pfn, zone_idx, nid, pgmap);
	memcpy(&run.head, head, sizeof(run.head));

	if (per_compound > 1) {
		/* Before the head is prepared: that stores into this tail. */
		__init_zone_device_page(head + 1, start_pfn + 1, zone_idx, nid,
					pgmap);
		zone_device_prep_tail(head, 1, run.order);
		set_page_count(head + 1, 0);
		memcpy(&run.tail, head + 1, sizeof(run.tail));

		zone_device_fill_compounds(&run, start_pfn, end_pfn, pgmap);
	} else {
		zone_device_fill_pages(&run, start_pfn, end_pfn);
	}
	zone_device_pause(&run);

	/* The caller publishes the memmap with plain stores. */
	if (run.method->streaming)
		memcpy_streaming_drain();

	return end_pfn;
}
