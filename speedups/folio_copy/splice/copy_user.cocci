// SPDX-License-Identifier: GPL-2.0-only
// Copy a folio on write as migration does, where both copy a page in the same way. The call
// is matched without the function around it, because spatch needs minutes to match "...".

@call@
expression dst, src, addr_hint, vma, nr;
@@
+if (IS_ENABLED(CONFIG_ARCH_HAS_COPY_MC) && !IS_ENABLED(CONFIG_KMSAN))
+	return folio_mc_copy(dst, src);
 if (unlikely(nr > MAX_ORDER_NR_PAGES))
 	return copy_user_gigantic_page(dst, src, addr_hint, vma, nr);
