/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include "hosted.h"

int remap_pfn_check(struct hosted_check *check);

#endif /* CHECK_H */
