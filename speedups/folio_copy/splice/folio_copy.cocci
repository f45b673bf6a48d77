// SPDX-License-Identifier: GPL-2.0-only
// Turn both functions into one call. The loop over pages is kept as the slow path of
// that call. The rules list every statement, because spatch needs minutes to remove
// a "...".

@include@
@@
+#include "folio_copy.h"
 #include "internal.h"

@copy@
identifier dst, src, i, nr;
statement S;
@@
 folio_copy(struct folio *dst, struct folio *src)
 {
-	long i = 0;
-	long nr = folio_nr_pages(src);
-	for (;;) S
+	copy_highpages(folio_page(dst, 0), folio_page(src, 0),
+		       folio_nr_pages(src));
 }

@mc_copy@
identifier dst, src, i, nr;
statement S;
@@
 folio_mc_copy(struct folio *dst, struct folio *src)
 {
-	long nr = folio_nr_pages(src);
-	long i = 0;
-	for (;;) S
-	return 0;
+	return copy_mc_highpages(folio_page(dst, 0), folio_page(src, 0),
+				 folio_nr_pages(src));
 }
