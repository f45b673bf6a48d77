// SPDX-License-Identifier: GPL-2.0-only
// Precedes the end of mm/zone_device.h.

extern unsigned int zone_device_cpus;
extern unsigned long zone_device_share;
