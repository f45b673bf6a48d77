// SPDX-License-Identifier: GPL-2.0-only
/*
 * Measure at the end of boot how long mapping and unmapping take. With
 * vmap_bench.rounds=N on the command line, each method is measured in turn N times,
 * and the results are printed as lines of KEY=value. Under an emulator whose clock
 * counts instructions, the results are numbers of instructions.
 */

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/ktime.h>
#include <linux/processor.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <trace/events/csd.h>
#include <trace/events/lock.h>

#include "vmap_reuse.h"

#undef pr_fmt
#define pr_fmt(fmt) "vmap_bench: " fmt

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"vmap_bench."

#define BLOCK_ORDER	8U
#define BLOCK_PAGES	BIT(BLOCK_ORDER)
#define SINGLES		64U
#define SMALL		16U
#define RANGE		SZ_1M
#define RANGES		16U
#define LARGES		4U
#define EACH_TIMES	512U	/* how often each CPU maps in a round */
#define HUGE_TIMES	16U	/* the same, of larger areas */
#define PMD_PAGES	(PMD_SIZE / PAGE_SIZE)
#define HUGE_PAGES	(VMAP_FREE_BLOCKS * PMD_PAGES)

static unsigned int vmap_bench_rounds;
module_param_named(rounds, vmap_bench_rounds, uint, 0444);
MODULE_PARM_DESC(rounds, "Number of times that each method is measured at boot (default 0)");

static unsigned int vmap_bench_mb = 100;
module_param_named(mb, vmap_bench_mb, uint, 0444);
MODULE_PARM_DESC(mb, "Size in MB of the memory that large arrays map (default 100)");

static bool vmap_bench_each;
module_param_named(each, vmap_bench_each, bool, 0444);
MODULE_PARM_DESC(each, "Measure only what all CPUs do at the same time");

/**
 * struct vmap_bench - the memory to map
 * @blocks: blocks of BLOCK_ORDER in descending order of addresses
 * @nr_blocks: number of blocks
 * @ordered: all pages, block by block
 * @scattered: all pages, in an order in which no page follows its predecessor
 * @huge: HUGE_PAGES pages, for huge PMD mappings
 * @hole: a range of physical addresses without a device
 */
struct vmap_bench {
	struct page **blocks;
	unsigned long nr_blocks;
	struct page **ordered;
	struct page **scattered;
	struct page **huge;
	struct resource hole;
};

/* Time in ns to map and to unmap. */
struct vmap_times {
	u64 map;
	u64 unmap;
};

static int vmap_bench_array(struct page **pages, unsigned long nr, unsigned int times,
			    struct vmap_times *took)
{
	static void *addrs[SINGLES];
	unsigned int i, done;
	u64 start = ktime_get_ns();

	for (done = 0; done < times; done++) {
		addrs[done] = vmap(pages, nr, VM_MAP, PAGE_KERNEL);
		if (!addrs[done])
			break;
	}
	took->map = ktime_get_ns() - start;
	start = ktime_get_ns();
	for (i = 0; i < done; i++)
		vunmap(addrs[i]);
	took->unmap = ktime_get_ns() - start;

	return done == times ? 0 : -ENOMEM;
}

static int vmap_bench_order8(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->ordered, bench->nr_blocks * BLOCK_PAGES, 1, took);
}

static int vmap_bench_order0(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->scattered, bench->nr_blocks * BLOCK_PAGES, 1, took);
}

static int vmap_bench_single(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->scattered, 1, SINGLES, took);
}

/* Areas of this size come from a pool, and finding one is a large part of the time. */
static int vmap_bench_small_order0(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->scattered, SMALL, SINGLES, took);
}

static int vmap_bench_small_order4(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->ordered, SMALL, SINGLES, took);
}

static int vmap_bench_block(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_array(bench->ordered, BLOCK_PAGES, SINGLES, took);
}

/* The range is mapped, but never accessed. */
static int vmap_bench_ioremap(const struct vmap_bench *bench, struct vmap_times *took)
{
	void __iomem *addrs[RANGES];
	unsigned int i, done;
	u64 start = ktime_get_ns();

	for (done = 0; done < RANGES; done++) {
		addrs[done] = ioremap(bench->hole.start, RANGE);
		if (!addrs[done])
			break;
	}
	took->map = ktime_get_ns() - start;
	start = ktime_get_ns();
	for (i = 0; i < done; i++)
		iounmap(addrs[i]);
	took->unmap = ktime_get_ns() - start;

	return done == RANGES ? 0 : -ENOMEM;
}

/* The mapping part of a huge vmalloc() of 1 MB, without the allocation of pages. */
static int vmap_bench_vmalloc(const struct vmap_bench *bench, struct vmap_times *took)
{
	unsigned int shift = arch_vmap_pte_supported_shift(RANGE), i;
	unsigned long addr;
	struct vm_struct *area;
	int err = 0;
	u64 start;

	area = __get_vm_area_node(RANGE, RANGE, PAGE_SHIFT, VM_MAP, VMALLOC_START, VMALLOC_END,
				  NUMA_NO_NODE, GFP_KERNEL, __builtin_return_address(0));
	if (!area)
		return -ENOMEM;
	addr = (unsigned long)area->addr;
	*took = (struct vmap_times){};
	for (i = 0; i < RANGES && !err; i++) {
		start = ktime_get_ns();
		err = __vmap_pages_range_noflush(addr, addr + RANGE, PAGE_KERNEL,
						 bench->ordered, shift);
		took->map += ktime_get_ns() - start;
		start = ktime_get_ns();
		vunmap_range_noflush(addr, addr + RANGE);
		took->unmap += ktime_get_ns() - start;
		flush_tlb_kernel_range(addr, addr + RANGE);
	}
	free_vm_area(area);

	return err;
}

/* vmalloc() as its callers see it: the pages are allocated, and freed, too. */
static int vmap_bench_whole(unsigned long size, unsigned int times, struct vmap_times *took)
{
	static void *addrs[SINGLES];
	unsigned int i, done;
	u64 start = ktime_get_ns();

	for (done = 0; done < times; done++) {
		addrs[done] = vmalloc(size);
		if (!addrs[done])
			break;
	}
	took->map = ktime_get_ns() - start;
	start = ktime_get_ns();
	for (i = 0; i < done; i++)
		vfree(addrs[i]);
	took->unmap = ktime_get_ns() - start;

	return done == times ? 0 : -ENOMEM;
}

static int vmap_bench_whole_16k(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_whole(SZ_16K, SINGLES, took);
}

static int vmap_bench_whole_64k(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_whole(SZ_64K, SINGLES, took);
}

static int vmap_bench_whole_1m(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_whole(SZ_1M, RANGES, took);
}

static int vmap_bench_whole_8m(const struct vmap_bench *bench, struct vmap_times *took)
{
	return vmap_bench_whole(SZ_8M, LARGES, took);
}

/**
 * struct vmap_each - what all CPUs do at the same time
 * @name: name of the case
 * @counts: name of the case of what is counted
 * @pages: two arrays that each CPU maps in turn
 * @nr: number of their pages
 * @times: how often each CPU maps one
 * @start: lets all begin
 * @end: completed by the last one
 * @running: number of threads that have not ended
 * @failed: number of mappings that failed
 * @counted: how often somebody waited for a lock, or calls to other CPUs
 */
struct vmap_each {
	const char *name;
	const char *counts;
	struct page **pages[2];
	unsigned int nr;
	unsigned int times;
	struct completion start;
	struct completion end;
	atomic_t running;
	atomic_t failed;
	atomic_t counted;
};

static int vmap_bench_thread(void *data)
{
	struct vmap_each *each = data;
	unsigned int i;
	void *addr;

	wait_for_completion(&each->start);
	for (i = 0; i < each->times; i++) {
		addr = vmap(each->pages[i % 2], each->nr, VM_MAP, PAGE_KERNEL);
		if (!addr)
			atomic_inc(&each->failed);
		vunmap(addr);
	}
	if (atomic_dec_and_test(&each->running))
		complete(&each->end);

	return 0;
}

static void vmap_bench_wait(void *data, void *lock, unsigned int flags)
{
	struct vmap_each *each = data;

	atomic_inc(&each->counted);
}

/* A flush of the TLBs of all CPUs calls each of the others. */
static void vmap_bench_call(void *data, const unsigned int cpu, unsigned long callsite,
			    smp_call_func_t func, call_single_data_t *csd)
{
	struct vmap_each *each = data;

	atomic_inc(&each->counted);
}

/* Return: the time in ns, or a negative error. */
static s64 vmap_bench_run_each(struct vmap_each *each)
{
	struct task_struct *task;
	unsigned int cpu;
	s64 start;
	int err = 0;

	/* One for this function, which ends when it has started all others. */
	atomic_set(&each->running, 1);
	init_completion(&each->start);
	init_completion(&each->end);
	for_each_online_cpu(cpu) {
		task = kthread_create_on_cpu(vmap_bench_thread, each, cpu, "vmap_bench/%u");
		if (IS_ERR(task)) {
			err = PTR_ERR(task);
			break;
		}
		atomic_inc(&each->running);
		wake_up_process(task);
	}
	start = ktime_get_ns();
	complete_all(&each->start);
	if (!atomic_dec_and_test(&each->running))
		wait_for_completion(&each->end);

	return err ?: atomic_read(&each->failed) ? -ENOMEM : ktime_get_ns() - start;
}

static const struct vmap_case {
	const char *name;
	int (*measure)(const struct vmap_bench *bench, struct vmap_times *took);
	unsigned long pages;	/* 0 means all pages of the large arrays */
} vmap_cases[] = {
	{ "vmap-100M-order8", vmap_bench_order8 },
	{ "vmap-100M-order0", vmap_bench_order0 },
	{ "vmap-1-page", vmap_bench_single, SINGLES },
	{ "vmap-64K-order0", vmap_bench_small_order0, SINGLES * SMALL },
	{ "vmap-64K-order4", vmap_bench_small_order4, SINGLES * SMALL },
	{ "vmap-1M-order8", vmap_bench_block, SINGLES * BLOCK_PAGES },
	{ "vmalloc-1M", vmap_bench_vmalloc, RANGES * (RANGE / PAGE_SIZE) },
	{ "vmalloc-16K-whole", vmap_bench_whole_16k, SINGLES * (SZ_16K / PAGE_SIZE) },
	{ "vmalloc-64K-whole", vmap_bench_whole_64k, SINGLES * (SZ_64K / PAGE_SIZE) },
	{ "vmalloc-1M-whole", vmap_bench_whole_1m, RANGES * (SZ_1M / PAGE_SIZE) },
	{ "vmalloc-8M-whole", vmap_bench_whole_8m, LARGES * (SZ_8M / PAGE_SIZE) },
	{ "ioremap-1M", vmap_bench_ioremap, RANGES * (RANGE / PAGE_SIZE) },
};

/* "control" is base again: its difference from base is noise. */
static const char *const vmap_variants[][2] = {
	{ "base", "base" }, { "control", "base" }, { "runs", "runs" }, { "auto", "auto" },
};

/* Begin right after a tick, so that all measurements include the same number of ticks. */
static void vmap_bench_settle(void)
{
	unsigned long tick = jiffies;

	vm_unmap_aliases();
	cond_resched();
	while (time_before_eq(jiffies, tick))
		cpu_relax();
}

static int vmap_bench_case(const struct vmap_bench *bench, const struct vmap_case *work)
{
	unsigned long items = work->pages ?: bench->nr_blocks * BLOCK_PAGES;
	struct vmap_times took;
	unsigned int round, i;
	int err;

	/* The first round allocates page tables and is not printed. */
	for (round = 0; round <= vmap_bench_rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(vmap_variants); i++) {
			vmap_set_method(vmap_variants[i][1]);
			vmap_bench_settle();
			err = work->measure(bench, &took);
			if (err)
				return err;
			if (!round)
				continue;
			pr_info("case=%s method=%s ns=%llu items=%lu\n", work->name,
				vmap_variants[i][0], took.map, items);
			pr_info("case=%s-unmap method=%s ns=%llu items=%lu\n", work->name,
				vmap_variants[i][0], took.unmap, items);
		}
	}

	return 0;
}

/* As vmap_bench_case(), with all CPUs at the same time, and with what is counted. */
static int vmap_bench_case_each(struct vmap_each *each)
{
	unsigned int round, i;
	s64 took;

	for (round = 0; round <= vmap_bench_rounds; round++) {
		for (i = 0; i < ARRAY_SIZE(vmap_variants); i++) {
			vmap_set_method(vmap_variants[i][1]);
			vmap_bench_settle();
			atomic_set(&each->counted, 0);
			took = vmap_bench_run_each(each);
			if (took < 0)
				return took;
			if (!round)
				continue;
			pr_info("case=%s method=%s ns=%lld items=%u\n", each->name,
				vmap_variants[i][0], took,
				num_online_cpus() * each->times * each->nr);
			pr_info("case=%s method=%s ns=%d items=%u\n", each->counts,
				vmap_variants[i][0], atomic_read(&each->counted),
				num_online_cpus() * each->times);
		}
	}

	return 0;
}

/* Small areas, and those that leave tables in the place of huge PMD mappings. */
static int vmap_bench_all_each(const struct vmap_bench *bench)
{
	struct vmap_each small = {
		.name = "vmap-64K-each",
		.counts = "vmap-64K-each-waits",
		.pages = { bench->scattered, bench->scattered },
		.nr = SMALL,
		.times = EACH_TIMES,
	}, huge = {
		.name = "vmap-16M-alternate-each",
		.counts = "vmap-16M-alternate-each-calls",
		.pages = { bench->scattered, bench->huge },
		.nr = HUGE_PAGES,
		.times = HUGE_TIMES,
	};
	int err;

	if (bench->nr_blocks * BLOCK_PAGES < HUGE_PAGES)
		return -EINVAL;
	err = register_trace_contention_begin(vmap_bench_wait, &small);
	if (!err) {
		err = vmap_bench_case_each(&small);
		unregister_trace_contention_begin(vmap_bench_wait, &small);
	}
	err = err ?: register_trace_csd_queue_cpu(vmap_bench_call, &huge);
	if (!err) {
		err = vmap_bench_case_each(&huge);
		unregister_trace_csd_queue_cpu(vmap_bench_call, &huge);
	}
	tracepoint_synchronize_unregister();

	return err;
}

static int vmap_bench_down(const void *a, const void *b)
{
	unsigned long one = page_to_pfn(*(struct page **)a);
	unsigned long other = page_to_pfn(*(struct page **)b);

	return one < other ? 1 : one > other ? -1 : 0;
}

static int vmap_bench_fill(struct vmap_bench *bench)
{
	unsigned long nr = (unsigned long)vmap_bench_mb * SZ_1M / (PAGE_SIZE * BLOCK_PAGES), i;
	unsigned long pages = nr * BLOCK_PAGES;

	if (!nr)
		return -EINVAL;
	bench->blocks = kvcalloc(nr, sizeof(*bench->blocks), GFP_KERNEL);
	bench->ordered = kvcalloc(pages, sizeof(*bench->ordered), GFP_KERNEL);
	bench->scattered = kvcalloc(pages, sizeof(*bench->scattered), GFP_KERNEL);
	bench->huge = kvcalloc(HUGE_PAGES, sizeof(*bench->huge), GFP_KERNEL);
	if (!bench->blocks || !bench->ordered || !bench->scattered || !bench->huge)
		return -ENOMEM;
	for (i = 0; i < HUGE_PAGES; i++) {
		bench->huge[i] = i % PMD_PAGES ? bench->huge[i - 1] + 1 :
				 alloc_pages(GFP_KERNEL, PMD_SHIFT - PAGE_SHIFT);
		if (!bench->huge[i])
			return -ENOMEM;
	}
	for (i = 0; i < nr; i++) {
		bench->blocks[i] = alloc_pages(GFP_KERNEL, BLOCK_ORDER);
		if (!bench->blocks[i])
			return -ENOMEM;
		bench->nr_blocks++;
	}
	/* In descending order, so that no two blocks are one run. */
	sort(bench->blocks, nr, sizeof(*bench->blocks), vmap_bench_down, NULL);
	for (i = 0; i < pages; i++) {
		bench->ordered[i] = bench->blocks[i / BLOCK_PAGES] + i % BLOCK_PAGES;
		bench->scattered[i] = bench->blocks[i % nr] + (i / nr * 3 + i) % BLOCK_PAGES;
	}

	return allocate_resource(&iomem_resource, &bench->hole, RANGE, SZ_16M, SZ_4G - 1, RANGE,
				 NULL, NULL);
}

static void vmap_bench_drop(struct vmap_bench *bench)
{
	unsigned int i;

	while (bench->nr_blocks)
		__free_pages(bench->blocks[--bench->nr_blocks], BLOCK_ORDER);
	for (i = 0; bench->huge && i < HUGE_PAGES && bench->huge[i]; i += PMD_PAGES)
		__free_pages(bench->huge[i], PMD_SHIFT - PAGE_SHIFT);
	kvfree(bench->huge);
	kvfree(bench->blocks);
	kvfree(bench->ordered);
	kvfree(bench->scattered);
	if (bench->hole.parent)
		release_resource(&bench->hole);
}

static int __init vmap_bench_init(void)
{
	struct vmap_bench bench = {
		.hole = { .name = "vmap-bench", .flags = IORESOURCE_MEM },
	};
	const char *found = vmap_method();
	unsigned int i;
	int err;

	if (!vmap_bench_rounds || !vmap_bench_mb)
		return 0;
	err = vmap_bench_fill(&bench);
	/* Let work that boot has queued finish before the measurements. */
	msleep(500);
	for (i = 0; i < ARRAY_SIZE(vmap_cases) && !err && !vmap_bench_each; i++)
		err = vmap_bench_case(&bench, &vmap_cases[i]);
	if (vmap_bench_each && !err)
		err = vmap_bench_all_each(&bench);
	if (err)
		pr_err("failed: %d\n", err);
	vmap_set_method(found);
	vmap_bench_drop(&bench);

	return 0;
}
late_initcall(vmap_bench_init);
