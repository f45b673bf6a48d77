// SPDX-License-Identifier: GPL-2.0-only
// The slow path's own functions seed the templates of mm/zone_device.c, so they
// can be called from outside mm_init.c. Their bodies stay where and as they are.
// compound_nr_pages() took the PFN as an argument late, and stable releases of
// 6.12 have it both ways: the wrapper repeats the arguments of its only call.

@include@
@@
 #include "internal.h"
+#include "zone_device.h"

@page@
@@
-static
 void __init_zone_device_page(...)
 {
 ...
 }

@call@
expression list args;
@@
 memmap_init_compound(..., compound_nr_pages(args))

@compound@
expression list call.args;
@@
+unsigned long zone_device_compound_nr(unsigned long pfn, struct vmem_altmap *altmap, struct dev_pagemap *pgmap)
+{
+	return compound_nr_pages(args);
+}
+
 void memmap_init_zone_device(...)
 {
 ...
 }
