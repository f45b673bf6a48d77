// SPDX-License-Identifier: GPL-2.0-only
/* The clock of both halves. */
#define _GNU_SOURCE
#include <time.h>

#include "host.h"

FROM_KERNEL unsigned long hosted_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ULL + t.tv_nsec;
}
