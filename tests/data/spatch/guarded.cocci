// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests.

@@
expression toy;
@@
 toy_guarded(...)
 {
 <...
-toy->count++;
+toy->count--;
 ...>
 }
