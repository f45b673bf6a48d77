/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef _ASM_ARM64_VMAP_H
#define _ASM_ARM64_VMAP_H

#include <linux/align.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/pfn.h>
#include <linux/pgtable.h>
#include <linux/vmalloc.h>

#define ARCH_VMAP_BATCHES	1

/*
 * A group is a contiguous PTE block: CONT_PTES aligned PTEs with the contiguous bit.
 * Kernels that define arch_vmap_pte_range_unmap_size() know groups in vmalloc space
 * and unmap them as a whole. Other kernels would change single PTEs of a group.
 */
#ifdef arch_vmap_pte_range_unmap_size
#define ARCH_VMAP_GROUP_SHIFT	CONT_PTE_SHIFT
#else
#define ARCH_VMAP_GROUP_SHIFT	PAGE_SHIFT
#endif

/* Compare eight pages with one branch. Compilers do not generate this from C. */
static __always_inline bool arch_vmap_follow8(struct page **pages, struct page *page)
{
	struct page *a = pages[0], *b = pages[1], *c = pages[2], *d = pages[3];
	struct page *e = pages[4], *f = pages[5], *g = pages[6], *h = pages[7];
	bool same;

	asm("cmp	%1, %9\n"
	    "ccmp	%2, %10, #0, eq\n"
	    "ccmp	%3, %11, #0, eq\n"
	    "ccmp	%4, %12, #0, eq\n"
	    "ccmp	%5, %13, #0, eq\n"
	    "ccmp	%6, %14, #0, eq\n"
	    "ccmp	%7, %15, #0, eq\n"
	    "ccmp	%8, %16, #0, eq\n"
	    "cset	%w0, eq"
	    : "=r" (same)
	    : "r" (a), "r" (b), "r" (c), "r" (d), "r" (e), "r" (f), "r" (g), "r" (h),
	      "r" (page), "r" (page + 1), "r" (page + 2), "r" (page + 3),
	      "r" (page + 4), "r" (page + 5), "r" (page + 6), "r" (page + 7)
	    : "cc");

	return same;
}

#define arch_vmap_follow8	arch_vmap_follow8

/*
 * Access the PTEs @at and @at + 1 with one instruction; @at is a constant. LDP and
 * STP access each PTE of the pair atomically, but a compiler does not combine two
 * accesses by READ_ONCE() or WRITE_ONCE() into one. The memory operand only tells
 * the compiler what is accessed. The address has operands of its own, because not
 * all compilers have a constraint for the addresses that LDP and STP can encode.
 */
static __always_inline u64 arch_vmap_read2(const pte_t *ptep, const int at)
{
	u64 a, b;

	asm volatile("ldp %0, %1, [%2, %3]"
		     : "=r" (a), "=r" (b)
		     : "r" (ptep), "i" (at * sizeof(*ptep)),
		       "m" (*(const u64 (*)[2])(ptep + at)));
	return a | b;
}

static __always_inline void arch_vmap_write2(pte_t *ptep, const int at, u64 a, u64 b)
{
	asm volatile("stp %x3, %x4, [%1, %2]"
		     : "=m" (*(u64 (*)[2])(ptep + at))
		     : "r" (ptep), "i" (at * sizeof(*ptep)), "rZ" (a), "rZ" (b));
}

static __always_inline bool arch_vmap_none8(const pte_t *ptep)
{
	return !(arch_vmap_read2(ptep, 0) | arch_vmap_read2(ptep, 2) |
		 arch_vmap_read2(ptep, 4) | arch_vmap_read2(ptep, 6));
}

#define arch_vmap_none8	arch_vmap_none8

/*
 * Whether each of the @nr PTEs is its predecessor plus PAGE_SIZE. Bits 48 and up of
 * a physical address are stored elsewhere in the PTE, so they must be the same for
 * all pages. User PTEs need cache and tag maintenance, so set_ptes() handles them.
 */
static __always_inline bool arch_vmap_plain(pte_t pte, unsigned long nr)
{
	unsigned long pfn = pte_pfn(pte);

	return pte_valid(pte) && !pte_user(pte) &&
	       !((pfn ^ (pfn + nr - 1)) >> (48 - PAGE_SHIFT));
}

/* Write @nr PTEs, at least one, for which arch_vmap_plain() is true. */
static __always_inline void arch_vmap_write(pte_t *ptep, u64 val, unsigned long nr)
{
	u64 next = val + PAGE_SIZE;

	for (; nr > 8; nr -= 8, ptep += 8) {
		arch_vmap_write2(ptep, 0, val, next);
		arch_vmap_write2(ptep, 2, val + 2 * PAGE_SIZE, next + 2 * PAGE_SIZE);
		arch_vmap_write2(ptep, 4, val + 4 * PAGE_SIZE, next + 4 * PAGE_SIZE);
		arch_vmap_write2(ptep, 6, val + 6 * PAGE_SIZE, next + 6 * PAGE_SIZE);
		val += 8 * PAGE_SIZE;
		next += 8 * PAGE_SIZE;
	}
	for (; nr > 1; nr--, ptep++) {
		__set_pte_nosync(ptep, __pte(val));
		val += PAGE_SIZE;
	}
	/* Only the last one is written with a barrier, which is enough for all. */
	__set_pte(ptep, __pte(val));
}

/*
 * Set the contiguous bit in all groups whose virtual and physical address are
 * aligned. No break-before-make is needed, because none of the PTEs was valid.
 *
 * For example, with 4K pages and CONT_PTES 16, 40 pages at an address 3 pages after
 * a multiple of 64 KB have a head of 13 PTEs, a body of 16 PTEs with the contiguous
 * bit, and a tail of 11 PTEs, if the physical address has the same offset.
 */
static __always_inline void arch_vmap_set_ptes(unsigned long addr, pte_t *ptep,
					       pte_t pte, unsigned long nr,
					       unsigned int max_shift)
{
	unsigned long head = -(addr >> PAGE_SHIFT) % CONT_PTES, body = 0;
	const unsigned int group = ARCH_VMAP_GROUP_SHIFT;
	u64 val = pte_val(pte);

	if (unlikely(!arch_vmap_plain(pte, nr))) {
		set_ptes(&init_mm, addr, ptep, pte, nr);
		return;
	}

	if (group > PAGE_SHIFT && max_shift >= group &&
	    nr >= head + CONT_PTES && IS_ALIGNED(pte_pfn(pte) + head, CONT_PTES))
		body = ALIGN_DOWN(nr - head, CONT_PTES);
	else
		head = nr;

	if (head)
		arch_vmap_write(ptep, val, head);
	if (!body)
		return;
	val += head * PAGE_SIZE;
	ptep += head;
	nr -= head;
	arch_vmap_write(ptep, val | PTE_CONT, body);
	if (nr > body)
		arch_vmap_write(ptep + body, val + body * PAGE_SIZE, nr - body);
}

#define arch_vmap_set_ptes	arch_vmap_set_ptes

/* Plain stores are enough: the CPU may update a valid PTE, but makes no cleared one valid. */
static __always_inline bool arch_vmap_clear_group(pte_t *ptep, unsigned long nr)
{
	for (; nr >= 8; nr -= 8, ptep += 8) {
		arch_vmap_write2(ptep, 0, 0, 0);
		arch_vmap_write2(ptep, 2, 0, 0);
		arch_vmap_write2(ptep, 4, 0, 0);
		arch_vmap_write2(ptep, 6, 0, 0);
	}
	for (; nr; nr--, ptep++)
		WRITE_ONCE(*ptep, __pte(0));

	return true;
}

#define arch_vmap_clear_group	arch_vmap_clear_group

#include <asm-generic/vmap.h>

#endif /* _ASM_ARM64_VMAP_H */
