/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef ZONE_DEVICE_CHECK_H
#define ZONE_DEVICE_CHECK_H

/* Shared by bench.c and check.c. */

#include <linux/memremap.h>
#include <linux/mmzone.h>

#include "hosted.h"

HOSTED_ENTRY(memmap_init_zone_device);
HOSTED_EXTRA(int, zone_device_set_method, const char *name);
/* Returns a function, which the check only compares with others. */
HOSTED_EXTRA(void *, zone_device_chosen, struct dev_pagemap *pgmap, unsigned long pfn,
	     unsigned long end_pfn);

/* How many CPUs write a memmap, and how much of it is worth one. */
HOSTED_EXTRA_VARIABLES(unsigned int, zone_device_cpus);
HOSTED_EXTRA_VARIABLES(unsigned long, zone_device_share);

/* Starts a section, and compounds of any order. The arena starts CHECK_BEFORE earlier. */
#define CHECK_PFN	0x1000000UL
#define CHECK_BEFORE	64UL

int zone_device_check(struct hosted_check *check);

#endif /* ZONE_DEVICE_CHECK_H */
