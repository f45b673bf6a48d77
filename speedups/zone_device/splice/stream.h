// SPDX-License-Identifier: GPL-2.0-only
// Follows the plain copy in mm/zone_device.h.

zone_device_fn zone_device_stream;
zone_device_fn *zone_device_way(struct dev_pagemap *pgmap, unsigned long pfn,
				unsigned long end_pfn);
