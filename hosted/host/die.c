// SPDX-License-Identifier: GPL-2.0-only
/* The end of a hosted program that cannot go on. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "host.h"

enum { STATUS_FAULT = 70 };

static void (*last_act)(void);

/* libFuzzer calls this to keep the input that led here, instead of exiting. */
void die_by(void (*end)(void))
{
	last_act = end;
}

FROM_KERNEL void hosted_die(const char *what)
{
	fprintf(stderr, "hosted: %s\n", what);
	if (last_act)
		last_act();
	exit(STATUS_FAULT);
}

/* The same from a signal handler, which must not use stdio. */
void die_in_signal(const char *text, size_t len)
{
	if (write(STDERR_FILENO, text, len) < 0)
		_exit(STATUS_FAULT + 1);
	if (last_act)
		last_act();
	_exit(STATUS_FAULT);
}
