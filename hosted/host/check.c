// SPDX-License-Identifier: GPL-2.0-only
/* Run the bench's own comparison over many small inputs. */
#include "host.h"

bool check_run(unsigned long stride)
{
	struct hosted_check check = { .stride = stride };
	bool good;

	hosted_layout = 0;
	good = hosted_bench.check(&check) >= 0;
	event_check(&check, good);
	return good;
}
