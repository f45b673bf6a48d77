// SPDX-License-Identifier: GPL-2.0-only
/*
 * Run what the steps add to mm_init.c, and its methods, with a stand-in for struct page of PAGE_BYTES
 * bytes, and compare every byte with a simple loop.
 *
 * Nearly all configurations of the kernels that are measured have 64 bytes: x86 and
 * arm64 align struct page to 16 bytes, and only KMSAN makes it larger. Other
 * architectures do not align it, and the kernel allows 56 to 96 bytes.
 * WANT_PAGE_VIRTUAL makes each struct page depend on its PFN, which also happens on
 * other architectures only. Then the slow path writes all struct pages.
 *
 * The headers of the kernel that the code includes are all replaced by this file; the
 * test makes an empty one for each.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;

enum { PAGES_PER_SECTION = 64, PAGE_SIZE = 4096 };
enum { EINVAL = 22, SZ_16M = 16 << 20, SZ_64M = 64 << 20 };
enum { PGMAP_ALTMAP_VALID = 1, page_ref_set = 0 };

#define IS_ENABLED(option)	0
#define IS_ALIGNED(x, a)	(((x) & ((a) - 1)) == 0)
#define ALIGN(x, a)		(((x) + (a) - 1) / (a) * (a))
#define DIV_ROUND_UP(x, d)	(((x) + (d) - 1) / (d))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define ARRAY_SIZE(a)		(sizeof(a) / sizeof(*(a)))
#define READ_ONCE(x)		(x)
#define WRITE_ONCE(x, value)	((x) = (value))
#define cond_resched()		((void)0)
#define wmb()			__builtin_ia32_sfence()
#define sysfs_streq(a, b)	(!strcmp(a, b))
#define sysfs_emit(...)		(sprintf(__VA_ARGS__))
#define MODULE_PARM_DESC(...)	struct unused
#define module_param_cb(name, ops, ...) struct unused_ ## name
#define unrolled_count(n)
#define __ref
#define static_assert(what)	_Static_assert(what, #what)
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#undef __always_inline
#define __always_inline		inline __attribute__((always_inline))

#ifdef __x86_64__
#define CONFIG_X86_64		1
#endif

struct page {
	unsigned long flags;
	unsigned long compound;
	unsigned int count;
	unsigned char rest[PAGE_BYTES - 20];
};
_Static_assert(sizeof(struct page) == PAGE_BYTES, "the size that is asked for");

struct folio {
	struct page page, tail;
	unsigned long _deferred_list;
};

struct zone;
struct vmem_altmap {
	unsigned long unused;
};

struct dev_pagemap {
	unsigned int vmemmap_shift;
	unsigned int flags;
	struct vmem_altmap altmap;
};

struct kernel_param;
struct kernel_param_ops {
	int (*set)(const char *val, const struct kernel_param *kp);
	int (*get)(char *buffer, const struct kernel_param *kp);
};

static struct page *memmap;
static unsigned int fpu_sections;
static bool fpu_usable = true;

#define pfn_to_page(pfn)		(memmap + (pfn))
#define page_to_pfn(page)		((unsigned long)((page) - memmap))
#define page_ref_tracepoint_active(t)	(t)
#define kernel_fpu_begin()		((void)fpu_sections++)
#define kernel_fpu_end()		((void)0)
#define irq_fpu_usable()		fpu_usable

static unsigned long pgmap_vmemmap_nr(struct dev_pagemap *pgmap)
{
	return 1UL << pgmap->vmemmap_shift;
}

static struct vmem_altmap *pgmap_altmap(struct dev_pagemap *pgmap)
{
	return pgmap->flags & PGMAP_ALTMAP_VALID ? &pgmap->altmap : NULL;
}

/* The slow functions: what they store is arbitrary, but in all bytes. */

static void set_page_count(struct page *page, int count)
{
	page->count = count;
}

static void __SetPageHead(struct page *page)
{
	page->flags |= 1 << 6;
}

static void set_compound_head(struct page *page, struct page *head, unsigned int order)
{
	page->compound = (unsigned long)head + 1 + order;
}

static void prep_compound_tail(struct page *page, struct page *head, unsigned int order)
{
	set_compound_head(page, head, order);
	page->rest[PAGE_BYTES - 21] = 0xd0;
}

static void prep_compound_head(struct page *head, unsigned int order)
{
	head[1].rest[9] = 0xc0 + order;
	if (order > 1)
		head[2].rest[10] = 0xb0 + order;
}

void __init_zone_device_page(struct page *page, unsigned long pfn,
			     unsigned long zone_idx, int nid, struct dev_pagemap *pgmap);
unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap);

/* Our straight-line stores where a size has some, and a loop for other sizes. */
#ifdef __x86_64__
#include <asm/movnti.h>
#endif

static void memcpy_flushcache(void *dst, const void *src, size_t n)
{
#ifdef __x86_64__
	size_t at;

	if (movnti_fixed(dst, src, n))
		return;
	for (at = 0; at < n; at += 8)
		__builtin_ia32_movnti64((long long *)((char *)dst + at),
					*(const long long *)((const char *)src + at));
#else
	memcpy(dst, src, n);
#endif
}

#include "mm_init.c"
#include "zone_device_method.c"
#ifdef __x86_64__
#include "zone_device_wide.c"
#endif

void __init_zone_device_page(struct page *page, unsigned long pfn,
			     unsigned long zone_idx, int nid, struct dev_pagemap *pgmap)
{
	unsigned int i;

	page->flags = zone_idx << 8 | nid;
	page->compound = (unsigned long)pgmap;
	page->count = 1;
	for (i = 0; i < sizeof(page->rest); i++)
		page->rest[i] = 3 * i + nid + 1;
}

/* Without an altmap, a compound has two pages of struct pages at most. */
unsigned long compound_nr_pages(unsigned long pfn, struct vmem_altmap *altmap,
				struct dev_pagemap *pgmap)
{
	unsigned long nr = pgmap_vmemmap_nr(pgmap), real = 2 * (PAGE_SIZE / PAGE_BYTES);

	return altmap ? nr : min(nr, real);
}

static void simple_loop(unsigned long pfn, unsigned long end_pfn, struct dev_pagemap *pgmap)
{
	unsigned long step = pgmap_vmemmap_nr(pgmap), nr, i;

	for (; pfn < end_pfn; pfn += step) {
		__init_zone_device_page(memmap + pfn, pfn, 4, 1, pgmap);
		if (step == 1)
			continue;
		__SetPageHead(memmap + pfn);
		nr = compound_nr_pages(pfn, pgmap_altmap(pgmap), pgmap);
		for (i = 1; i < nr; i++) {
			__init_zone_device_page(memmap + pfn + i, pfn + i, 4, 1, pgmap);
			prep_compound_tail(memmap + pfn + i, memmap + pfn,
					   pgmap->vmemmap_shift);
			set_page_count(memmap + pfn + i, 0);
		}
		prep_compound_head(memmap + pfn, pgmap->vmemmap_shift);
	}
}

/* All ranges start after PFN FIRST. */
enum { FIRST = 2048, MOST = 15 * 1024, PAGES = FIRST + MOST + 64, BYTES = PAGES * PAGE_BYTES };

static void compare(unsigned long pfn, unsigned long nr, struct dev_pagemap *pgmap)
{
	static unsigned char expected[BYTES];
	unsigned long i;

	memset(memmap, 0xee, BYTES);
	simple_loop(pfn, pfn + nr, pgmap);
	memcpy(expected, memmap, BYTES);

	memset(memmap, 0xee, BYTES);
	if (zone_device_memmap_init(pfn, pfn + nr, 4, 1, pgmap) != pfn + nr) {
		printf("%lu pages were left to the slow path\n", nr);
		exit(1);
	}
	if (!memcmp(memmap, expected, BYTES))
		return;
	for (i = 0; ((unsigned char *)memmap)[i] == expected[i]; i++)
		;
	printf("%s, order %u, %lu pages at PFN %lu: byte %lu of PFN %lu differs\n",
	       zone_device_method(), pgmap->vmemmap_shift, nr, pfn, i % PAGE_BYTES,
	       i / PAGE_BYTES);
	exit(1);
}

static unsigned int compare_ranges(void)
{
	/* The largest compound has more pages than a method writes without a pause. */
	static const unsigned int orders[] = { 0, 1, 2, 6, 11 };
	static const unsigned long counts[] = { 1, 2, 3, 5, 31 };
	unsigned int altmap, o, c, compared = 0;

	for (altmap = 0; altmap < 2; altmap++) {
		for (o = 0; o < 5; o++) {
			struct dev_pagemap pgmap = { orders[o], altmap };

			for (c = 0; c < 5 && counts[c] << orders[o] <= MOST; c++, compared++)
				compare(FIRST, counts[c] << orders[o], &pgmap);
			compare(FIRST, MOST >> orders[o] << orders[o], &pgmap);
			compared++;
		}
	}
	for (c = 0; c < 5; c++, compared++)
		compare(FIRST + 3, counts[c], &(struct dev_pagemap){ 0 });
	return compared;
}

/* Names the way in which "auto" writes so many pages. */
static const char *chosen(unsigned int order, bool altmap, unsigned long nr)
{
	struct dev_pagemap pgmap = { order, altmap };
	zone_device_fn *found = zone_device_chosen(&pgmap, FIRST, FIRST + nr);

	return found == zone_device_copy ? "copy" : found == zone_device_wide ? "wide" : "none";
}

int main(void)
{
	static const char *const names[] = { "auto", "copy", "movnti", "wide" };
	/* A memmap of 64 MiB is large. */
	const unsigned long large = DIV_ROUND_UP(64UL << 20, PAGE_BYTES);
	unsigned int i, used;

	memmap = aligned_alloc(PAGE_SIZE, ALIGN(BYTES, PAGE_SIZE));
#ifdef WANT_PAGE_VIRTUAL
	return zone_device_memmap_init(FIRST, FIRST + 1, 4, 1, &(struct dev_pagemap){ 0 }) != FIRST;
#endif
	for (i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (zone_device_set_method(names[i]))
			printf("%s refused\n", names[i]);
		else
			printf("%s compared %u\n", names[i], compare_ranges());
	}
	used = fpu_sections;
	fpu_usable = false;
	printf("wide, no FPU compared %u\n", compare_ranges());
	zone_device_set_method("auto");
	printf("small: %s\n", chosen(0, false, large - 1));
	printf("large: %s\n", chosen(0, false, large));
	printf("large, compounds: %s\n", chosen(11, true, large));
	printf("large, but most of it shared: %s\n", chosen(11, false, large));
	printf("FPU used: %s\n", fpu_sections != used ? "too often" : used ? "yes" : "no");
	return 0;
}
