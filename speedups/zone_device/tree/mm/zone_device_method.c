// SPDX-License-Identifier: GPL-2.0-only
/* Methods to write the memmap of device memory, and the parameter that chooses one. */

#include <linux/kernel.h>
#include <linux/string.h>

#include "method.h"
#include "zone_device_method.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"zone_device."

struct zone_device_method {
	const char *name;
	zone_device_fn *write;
};

/* The first one is the default. It chooses by the size of the memmap. */
static const struct zone_device_method zone_device_methods[] = {
	{ "auto" },
	{ "copy",	zone_device_copy },
	{ "movnti",	zone_device_stream },
	{ "base" },
};

static const struct zone_device_method *zone_device_now = zone_device_methods;

/**
 * zone_device_chosen - get the way in which the chosen method writes a range
 * @pgmap: of the range
 * @pfn: first PFN of the range
 * @end_pfn: PFN after the range
 *
 * Return: a function that replicates a struct page, or NULL for the slow path.
 */
zone_device_fn *zone_device_chosen(struct dev_pagemap *pgmap, unsigned long pfn,
				   unsigned long end_pfn)
{
	const struct zone_device_method *method = READ_ONCE(zone_device_now);

	if (method == zone_device_methods)
		return zone_device_way(pgmap, pfn, end_pfn);

	return method->write;
}

/**
 * zone_device_set_method - choose how later calls write the memmap
 * @name: name of a method; "base" is the slow path
 *
 * A call that is running finishes with the method that it began with.
 *
 * Return: 0, or -EINVAL for an unknown name.
 */
int zone_device_set_method(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(zone_device_methods); i++) {
		if (!sysfs_streq(name, zone_device_methods[i].name))
			continue;
		WRITE_ONCE(zone_device_now, &zone_device_methods[i]);
		return 0;
	}

	return -EINVAL;
}

/**
 * zone_device_method - get the name of the chosen method
 *
 * Return: a name that is never freed.
 */
const char *zone_device_method(void)
{
	return READ_ONCE(zone_device_now)->name;
}

DEFINE_METHOD_PARAM(zone_device);
MODULE_PARM_DESC(method, "How the memmap of device memory is written: auto, copy, a streaming method or base");
