// SPDX-License-Identifier: GPL-2.0-only
// As tails.cocci, for kernels in which preparing a page for freeing takes no flags. The
// function gets them, and another name, by an edit of its first lines, which follows
// these rules. Code outside this file still calls it without flags.

@tails@
identifier order;
@@
 free_pages_prepare(..., unsigned int order)
 {
 	<+...
 	if (unlikely(
-		order
+		order && !(fpi_flags & FPI_CLEAN)
 		)) { ... }
 	...+>
 }

@ok@
identifier fpi_flags;
expression page, order;
@@
 __free_pages_ok(..., fpi_t fpi_flags)
 {
 	<+...
-	free_pages_prepare(page, order)
+	__free_pages_prepare(page, order, fpi_flags)
 	...+>
 }

@calls@
expression page, order;
@@
-free_pages_prepare(page, order)
+__free_pages_prepare(page, order, FPI_NONE)

@outside@
typedef bool;
@@
+bool free_pages_prepare(struct page *page, unsigned int order)
+{
+	return __free_pages_prepare(page, order, FPI_NONE);
+}
+
 void __free_pages_core(...)
 {
 ...
 }
