// SPDX-License-Identifier: GPL-2.0-only
// Copy more than one page in bulk if that is possible. If it is not, or if a machine check
// stops it, the loop over pages copies everything. The rule lists every statement, because
// spatch needs minutes to match a "...".

@copy@
identifier dst, src, i, nr;
statement S;
@@
 folio_mc_copy(struct folio *dst, struct folio *src)
 {
 	long nr = folio_nr_pages(src);
 	long i = 0;
+
+	if (nr > 1 && folio_mc_copy_bulk(dst, src))
+		return 0;
 	for (;;) S
 	return 0;
 }
