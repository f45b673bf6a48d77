// SPDX-License-Identifier: GPL-2.0-only
// If memmap_online() found all struct pages clean, the loop over tails would find nothing
// and change nothing. Nobody else passes FPI_CLEAN.

@tails@
identifier order, fpi_flags;
@@
 __free_pages_prepare(..., unsigned int order, fpi_t fpi_flags)
 {
 	<+...
 	if (unlikely(
-		order
+		order && !(fpi_flags & FPI_CLEAN)
 		)) { ... }
 	...+>
 }
