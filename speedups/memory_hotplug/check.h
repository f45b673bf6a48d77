/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include "hosted.h"

int memory_hotplug_check(struct hosted_check *check);
int memory_hotplug_fuzz(const unsigned char *data, unsigned long size,
			struct hosted_check *check);
int costs_check(struct hosted_check *check);
int memmap_check(struct hosted_check *check);
int vmemmap_check(struct hosted_check *check);

#endif /* CHECK_H */
