// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests.

@@
expression toy;
@@
-toy_grow(toy)
+toy_shrink(toy)
