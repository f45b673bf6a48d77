// SPDX-License-Identifier: GPL-2.0-only
// An area may begin at an offset behind its alignment. The search for address
// space makes and tests addresses in four functions, by macros that take powers
// of two; wherever these stand in them, ours take their place.

@start@
identifier fn = {is_within_this_va, va_alloc};
expression addr, align;
@@
 fn(...)
 {
	<...
-	ALIGN(addr, align)
+	vmap_align(addr, align)
	...>
 }

@valid@
expression align;
@@
 alloc_vmap_area(...)
 {
	<...
-	is_power_of_2(align)
+	vmap_is_alignment(align)
	...>
 }

@cached@
expression addr, align;
@@
 node_pool_del_va(...)
 {
	<...
-	IS_ALIGNED(addr, align)
+	vmap_is_aligned(addr, align)
	...>
 }

@placed@
expression addr, align;
@@
 alloc_vmap_area(...)
 {
	<...
-	IS_ALIGNED(addr, align)
+	vmap_is_aligned(addr, align)
	...>
 }
