// SPDX-License-Identifier: GPL-2.0-only
// Both functions become one call; the loop over pages lives on behind it. The
// statements are named one by one, since spatch takes minutes to drop a "...".

@include@
@@
 #include <linux/export.h>
+#include <linux/folio_copy.h>

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
