// SPDX-License-Identifier: GPL-2.0-only
// Copy ranges if that is possible, before the loop over pages is chosen. The call is
// matched without the function around it, because spatch needs minutes to match "...".

@include@
@@
 #include "internal.h"
+#include "folio_copy.h"

@call@
expression dst, src, addr_hint, vma, nr;
@@
+if (folio_copies_ranges())
+	return folio_copy_user(dst, src, addr_hint);
 if (unlikely(nr > MAX_ORDER_NR_PAGES))
 	return copy_user_gigantic_page(dst, src, addr_hint, vma, nr);
