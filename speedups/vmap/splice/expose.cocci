// SPDX-License-Identifier: GPL-2.0-only
// What mm/vmap.c and vmalloc.c are to each other.

@include@
@@
 #include "pgalloc-track.h"
+#include "vmap.h"
