// SPDX-License-Identifier: GPL-2.0-only
// Try movnti_fixed() before the call in memcpy_flushcache(). Sizes of 4, 8 and 16
// bytes return earlier, so they keep their code.
// The call is matched without the function around it, because the switch before
// it returns and so the call is not on every path.

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
