/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Macros of the kernel, for spatch (--macro-file). Only those that spatch cannot
 * parse by itself are here, defined so that it sees the structure of the code.
 */
#define scoped_cond_guard(_name, _fail, ...) for (;;)
