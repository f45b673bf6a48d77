// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

#include <asm/mce.h>

unsigned long copy_mc_enhanced_fast_string(void *toy);
