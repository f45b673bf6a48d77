/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What spatch is told of the kernel's macros (--macro-file): only what it can't
 * parse by itself, and only so that it sees the shape of the code.
 */
#define scoped_cond_guard(_name, _fail, ...) for (;;)
