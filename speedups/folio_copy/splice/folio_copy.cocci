// SPDX-License-Identifier: GPL-2.0-only
// Copy more than one page as a range if that is possible, before the loop over pages. The
// rules list every statement, because spatch needs minutes to match a "...".

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
 	long i = 0;
 	long nr = folio_nr_pages(src);
+
+	if (nr > 1 && folio_copies_ranges()) {
+		copy_highpages(folio_page(dst, 0), folio_page(src, 0), nr);
+		return;
+	}
 	for (;;) S
 }

@mc_copy@
identifier dst, src, i, nr;
statement S;
@@
 folio_mc_copy(struct folio *dst, struct folio *src)
 {
 	long nr = folio_nr_pages(src);
 	long i = 0;
+
+	if (nr > 1 && folio_copies_ranges())
+		return copy_mc_highpages(folio_page(dst, 0), folio_page(src, 0), nr);
 	for (;;) S
 	return 0;
 }
