/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include <linux/types.h>

#include "hosted.h"

/* A program whose memcpy() is not the kernel's. */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED	true
#else
#define SANITIZED	false
#endif

/* Counts runs; each part of the check looks at every @stride-th combination. */
bool check_turn(struct hosted_check *check);

int folio_copy_check(struct hosted_check *check);
int check_paths(struct hosted_check *check);
int check_poison(struct hosted_check *check);

/* The pages that memory_failure_queue() was given since the last call. */
unsigned int check_failures(unsigned long *first);

#endif /* CHECK_H */
