// SPDX-License-Identifier: GPL-2.0-only
// Constant sizes that memcpy_flushcache() has no code for are offered to
// movnti_fixed() before the call; 4, 8 and 16 return before they get there.
// The call is matched without the function around it: the switch in front of
// it returns, so it is not on every path.

@include@
@@
 #include <linux/jump_label.h>
+#include <asm/movnti.h>

@call@
expression dst, src, cnt;
@@
+if (__builtin_constant_p(cnt) && movnti_fixed(dst, src, cnt))
+	return;
 __memcpy_flushcache(dst, src, cnt);
