// SPDX-License-Identifier: GPL-2.0-only
// The slow path's functions make the templates of mm/zone_device.c, so code outside
// mm_init.c must be able to call them. Their bodies do not move or change.

@page@
@@
-static
 void __init_zone_device_page(...)
 {
 ...
 }

@compound@
@@
-static inline
 unsigned long compound_nr_pages(...)
 {
 ...
 }
