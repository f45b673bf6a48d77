// SPDX-License-Identifier: GPL-2.0-only
/*
 * Methods for replicating a descriptor over the memmap of device memory, and how
 * one is chosen.
 *
 * "auto" chooses by the size of the memmap:
 *
 * - A large memmap is streamed. Most of it is in no cache, so plain stores would
 *   fetch its old lines from memory and evict other data.
 * - A smaller one is copied. It may be in the cache, for example because it has just
 *   been allocated and cleared, and it is likely to be read soon. Streaming would
 *   evict it.
 *
 * Timing both on the first descriptors does not tell which is better: the write
 * buffers of a CPU absorb so few streaming stores, and nothing has read them back.
 */

#include "zone_device_internal.h"

#include <asm/zone_device.h>

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"zone_device."

/*
 * Bytes of a large memmap. At this size, streaming what is in the cache and copying
 * what is not cost about the same. The size of the last-level cache is not used,
 * because a virtual machine may have a small share of what CPUID reports.
 */
#define ZONE_DEVICE_LARGE	(16UL << 20)

/*
 * Plain stores alone do not make every CPU fetch the next lines of a memmap that is not
 * in the cache, though loads, as the slow path has them, do. On such a CPU, copying
 * takes twice as long as the slow path without this prefetch, and 0.8 times with it. It
 * is for reading, which is the faster one there, and may reach past the memmap's end.
 */
#define ZONE_DEVICE_AHEAD	32UL

static void zone_device_copy_stamp(struct page *page, const struct page *tmpl,
				   unsigned long nr)
{
	for (; nr; nr--, page++) {
		__builtin_prefetch(page + ZONE_DEVICE_AHEAD);
		memcpy(page, tmpl, sizeof(*page));
	}
}

static const struct zone_device_method zone_device_copy = {
	.name	= "copy",
	.usable	= true,
	.stamp	= zone_device_copy_stamp,
};

/* Values of the parameter that are not methods. */
static const struct zone_device_method zone_device_auto = { .name = "auto", .usable = true };
static const struct zone_device_method zone_device_base = { .name = "base", .usable = true };

static const struct zone_device_method *const zone_device_values[] = {
	&zone_device_auto,
	&zone_device_base,
	&zone_device_copy,
	NULL
};

static const struct zone_device_method *zone_device_chosen = &zone_device_auto;

static const struct zone_device_method *
zone_device_find(const struct zone_device_method *const *list, const char *name)
{
	while (*list && !sysfs_streq(name, (*list)->name))
		list++;

	return *list;
}

/**
 * zone_device_set_method - choose how later calls replicate descriptors
 * @name: a method, "auto" to let the kernel choose, or "base" for the slow path
 *
 * Calls in progress finish with the method they started with.
 *
 * Return: 0, -EINVAL for an unknown name, or -EOPNOTSUPP for a method that does
 * not support this size of struct page.
 */
int zone_device_set_method(const char *name)
{
	const struct zone_device_method *method;

	method = zone_device_find(zone_device_values, name) ?:
		 zone_device_find(arch_zone_device_methods, name);
	if (!method)
		return -EINVAL;
	if (!method->usable)
		return -EOPNOTSUPP;
	WRITE_ONCE(zone_device_chosen, method);

	return 0;
}

/**
 * zone_device_method - get the name that zone_device_set_method() accepted last
 *
 * Return: a name that lives as long as the kernel.
 */
const char *zone_device_method(void)
{
	return READ_ONCE(zone_device_chosen)->name;
}

DEFINE_METHOD_PARAM(zone_device);
MODULE_PARM_DESC(method, "How the memmap of device memory is written: auto, base, copy or a streaming method of this CPU");

/**
 * zone_device_is_off - test whether the slow path writes everything
 *
 * Return: true if the chosen method is "base".
 */
bool zone_device_is_off(void)
{
	return READ_ONCE(zone_device_chosen) == &zone_device_base;
}

static bool zone_device_can(const struct zone_device_method *method)
{
	return method->usable && (!method->ready || method->ready());
}

/* The size of the descriptors that will be written. */
static unsigned long zone_device_bytes(struct dev_pagemap *pgmap, unsigned long pfn,
				       unsigned long end_pfn)
{
	unsigned long nr = end_pfn - pfn, step = pgmap_vmemmap_nr(pgmap);

	if (step > 1)
		nr = DIV_ROUND_UP(nr, step) *
		     zone_device_compound_nr(pfn, pgmap_altmap(pgmap), pgmap);

	return nr * sizeof(struct page);
}

/**
 * zone_device_choose - choose the method for a range
 * @pgmap: of the range
 * @pfn: first PFN of the range
 * @end_pfn: PFN after the range
 *
 * Return: a method that supports this context.
 */
const struct zone_device_method *zone_device_choose(struct dev_pagemap *pgmap,
						    unsigned long pfn,
						    unsigned long end_pfn)
{
	const struct zone_device_method *chosen = READ_ONCE(zone_device_chosen);
	const struct zone_device_method *const *method;

	if (chosen != &zone_device_auto)
		return chosen->stamp && zone_device_can(chosen) ? chosen : &zone_device_copy;

	if (zone_device_bytes(pgmap, pfn, end_pfn) >= ZONE_DEVICE_LARGE) {
		for (method = arch_zone_device_methods; *method; method++) {
			if (zone_device_can(*method))
				return *method;
		}
	}

	return &zone_device_copy;
}
