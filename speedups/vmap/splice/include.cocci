// SPDX-License-Identifier: GPL-2.0-only
// Include the interfaces between mm/vmap.c and mm/vmalloc.c.

@include@
@@
 #include "pgalloc-track.h"
+#include "vmap.h"
