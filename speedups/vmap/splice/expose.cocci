// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap.c needs of vmalloc.c: PMD leafs. The function stays where and as
// it is.

@include@
@@
 #include "pgalloc-track.h"
+#include "vmap.h"

@pmd@
@@
-static
 int vmap_try_huge_pmd(...)
 {
 ...
 }
