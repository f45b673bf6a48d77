/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the code in mm/mm_init.c needs of the kernel, for proofs: short sections, a memmap of PAGES
 * descriptors that have two bytes each, and compounds of one ORDER.
 */

#include <stdbool.h>
#include <stddef.h>

/* The kernel's words, as far as the source has them. */
#define __always_inline		inline
#define ALIGN(x, to)		(((x) + (to) - 1) & ~((to) - 1))
#define IS_ALIGNED(x, to)	(((x) & ((to) - 1)) == 0)
#define DIV_ROUND_UP(x, by)	(((x) + (by) - 1) / (by))
#define min(a, b)		((a) < (b) ? (a) : (b))
#define max(a, b)		((a) > (b) ? (a) : (b))
#define min3(a, b, c)		min(min((unsigned long)(a), (unsigned long)(b)), c)
#define READ_ONCE(x)		(x)
#define barrier()		((void)0)
#define __ref
#define static_assert(what)	_Static_assert(what, #what)
#define offsetofend(type, member) (offsetof(type, member) + sizeof(((type *)0)->member))
#define container_of(at, type, member) ((type *)((char *)(at) - offsetof(type, member)))
#define __builtin_prefetch(at)	((void)(at))

struct page {
	unsigned char image;
	unsigned char head;	/* PFN of the head that a tail points to */
};

struct folio {
	struct page page, tail, _deferred_list;
};

struct zone;
struct vmem_altmap;
struct dev_pagemap {
	unsigned int vmemmap_shift;
};

typedef void (zone_device_fn)(struct page *page, const struct page *tmpl, unsigned long nr);

static struct page memmap[PAGES];

#define SECTION			4UL	/* pages */
#define PAGES_PER_SECTION	SECTION
#define SZ_16M			8UL	/* of the memmap of two sections */
#define SZ_64M			8UL
#define STEP			(1UL << ORDER)

/* Place in a compound, and the head of that. */
#define OFFSET(pfn)		((pfn) & (STEP - 1))
#define HEAD(pfn)		((pfn) - OFFSET(pfn))

#define pfn_to_page(pfn)	(&memmap[pfn])
#define page_to_pfn(page)	((unsigned long)((page) - memmap))
#define pgmap_altmap(pgmap)	((struct vmem_altmap *)NULL)
#define pgmap_vmemmap_nr(pgmap)	STEP
#define cond_resched()		((void)0)
#define page_ref_tracepoint_active(event) nondet_bool()

unsigned long nondet_ulong(void);
unsigned int nondet_uint(void);
bool nondet_bool(void);

#define prove(what, why)	__CPROVER_assert(what, why)
#define assume(what)		__CPROVER_assume(what)

/* Other CPUs. */
typedef struct { unsigned long value; } atomic_long_t;
struct work_struct { bool queued; };
struct cpumask { int none; };

#define ATOMIC_LONG_INIT(number)	{ number }
#define PF_KTHREAD		1
#define HK_TYPE_DOMAIN		0
#define HK_TYPE_WQ		1
#define N_CPU			0
#define system_dfl_wq		NULL
#define for_each_cpu_and(cpu, one, other) for ((cpu) = 0; (cpu) < CPUS; (cpu)++)
#define rcu_read_lock()		((void)0)
#define rcu_read_unlock()	((void)0)
#define raw_smp_processor_id()	0U
#define housekeeping_cpu(cpu, type) true
#define cpumask_test_cpu(cpu, mask) true
#define numa_nearest_node(nid, state) (nid)
#define cpumask_of_node(nid)	((const struct cpumask *)NULL)
#define cpu_online_mask		NULL
#define current			(&task)
#define INIT_WORK_ONSTACK(work, function) ((work)->queued = false)
#define destroy_work_on_stack(work) prove(!(work)->queued, "no work item is left")

static struct task_struct {
	unsigned int flags;
	const struct cpumask *cpus_ptr;
} task;

/* The steps "methods" and "wide". */
void zone_device_copy(struct page *page, const struct page *tmpl, unsigned long nr);
void zone_device_stream(struct page *page, const struct page *tmpl, unsigned long nr);
#define zone_device_wide zone_device_stream

#ifdef STREAM
#define zone_device_chosen(pgmap, pfn, end) zone_device_stream
#else
#define zone_device_chosen(pgmap, pfn, end) zone_device_copy
#endif
