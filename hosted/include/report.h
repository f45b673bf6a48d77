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

/* What struct pages of the largest compound page take; they are made by so many, or more. */
#define HOSTED_PAGES_BYTES	(64UL << 10)

struct hosted_case;

/*
 * hosted_order() - the order of the compound page that a page of a harness belongs to
 * @c: the case; NULL in a check
 * @items: its size
 * @pfn: the page
 *
 * Without one of the harness's own, all pages are single. At most 10.
 */
unsigned int hosted_order(const struct hosted_case *c, unsigned long items, unsigned long pfn);

/* Make the struct pages of pages in use, of the orders that hosted_order() says. */
void hosted_make_pages(void *start, unsigned long bytes, const struct hosted_case *c,
		       unsigned long items);

#endif /* HOSTED_REPORT_H */
