// SPDX-License-Identifier: GPL-2.0-only
// Let an area begin at an offset from its alignment. Three functions of the search for
// address space compute and test addresses with macros that take powers of two. The
// pools of freed areas need no change, because no area at an offset is that small.

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

@placed@
expression addr, align;
@@
 alloc_vmap_area(...)
 {
	<...
-	BUG_ON(!IS_ALIGNED(addr, align));
+	BUG_ON(!IS_ALIGNED(addr, align) && !vmap_is_aligned(addr, align));
	...>
 }
