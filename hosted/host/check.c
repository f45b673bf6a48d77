// SPDX-License-Identifier: GPL-2.0-only
/* Run the bench's own comparison over many small inputs. */
#include "host.h"

bool check_run(unsigned long stride, enum hosted_side side)
{
	struct hosted_check check = { .stride = stride, .side = side };
	bool good;

	hosted_layout = 0;
	faults_in_check(&check);
	good = hosted_bench.check(&check) >= 0;
	faults_end_check(good);
	if (side != HOSTED_PATCHED && !check.asked)
		hosted_die("the check of this harness compares its own code only");
	event_check(&check, good);
	return good;
}
