/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _MM_ZONE_DEVICE_METHOD_H
#define _MM_ZONE_DEVICE_METHOD_H

#include "zone_device.h"

zone_device_fn *zone_device_chosen(struct dev_pagemap *pgmap, unsigned long pfn,
				   unsigned long end_pfn);
int zone_device_set_method(const char *name);
const char *zone_device_method(void);

#endif /* _MM_ZONE_DEVICE_METHOD_H */
