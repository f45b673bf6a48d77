/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HOSTED_REPORT_H
#define HOSTED_REPORT_H

/*
 * hosted_undrained() - note that posted code leaves streaming stores undrained
 * @input: with which input
 *
 * The bytes are right. Whether the order matters is for its readers to know, so a check
 * goes on, and the first note is told beside its result.
 */
void hosted_undrained(const char *input);

enum { HOSTED_NO_BUG, HOSTED_BUG, HOSTED_WARN };

/* What the instruction at @ip is: the kernel goes on after WARN(). */
int hosted_bug(unsigned long ip);

/* Whether @at is in a struct page of memory that kernel code may use. */
int hosted_is_memmap(unsigned long at);

#endif /* HOSTED_REPORT_H */
