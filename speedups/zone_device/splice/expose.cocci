// SPDX-License-Identifier: GPL-2.0-only
// The slow path's functions make the templates of mm/zone_device.c, so code outside
// mm_init.c must be able to call them. Their bodies do not move or change.
// Recent kernels pass the PFN to compound_nr_pages(), and stable releases of 6.12
// differ in this. So the wrapper repeats the arguments of the only existing call.

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
