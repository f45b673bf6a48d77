// SPDX-License-Identifier: GPL-2.0-only
#include <linux/mm.h>
#include "hosted.h"
#include "check.h"
#include "folios.h"

void memory_failure_queue(unsigned long pfn, int flags)
{
}

int folio_copy_check(struct hosted_check *check)
{
	return 0;
}
