/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef CHECK_H
#define CHECK_H

#include <linux/types.h>

#include "hosted.h"

/* Built with a sanitizer, which replaces the kernel's memcpy(). */
#ifdef __SANITIZE_ADDRESS__
#define SANITIZED	true
#else
#define SANITIZED	false
#endif

/* Count a combination; returns true for every @stride-th of them, which is to be checked. */
bool check_turn(struct hosted_check *check);

int folio_copy_check(struct hosted_check *check);
int check_paths(struct hosted_check *check);
int check_auto(struct hosted_check *check);
int check_poison(struct hosted_check *check);
int check_lag(struct hosted_check *check);
int check_user(struct hosted_check *check);

/* Number of pages passed to memory_failure_queue() since the last call, and the first. */
unsigned int check_failures(unsigned long *first);

#endif /* CHECK_H */
