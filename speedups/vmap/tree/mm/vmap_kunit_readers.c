// SPDX-License-Identifier: GPL-2.0-only
/* Readers of /proc/kcore beside vmap(), which may free a page table. */

#include <linux/array_size.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/irq_work.h>
#include <linux/jiffies.h>
#include <linux/kallsyms.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/preempt.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/smp.h>
#include <linux/stacktrace.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/vmalloc.h>

#include "vmap_internal.h"
#include "vmap_kunit.h"

#define BLOCK	512UL
#define ROUNDS	200
#define HELD	30		/* most rounds in which the reader is held twice */
#define HELD_TIME	(10 * HZ)	/* after which no other round begins */
#define TRIES	100		/* to hold it inside vmalloc_to_page() */
#define LONGEST	20000		/* most interrupts in a row */

/* Before everything is mapped, an area looks like a hole to readers of /proc/kcore. */
void vmap_kunit_vread_hidden(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct kvec vec = { .iov_len = PAGE_SIZE };
	struct vm_struct *area;
	struct iov_iter iter;
	unsigned long addr;

	vec.iov_base = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, vec.iov_base);
	vmap_kunit_fill(memory, 0, BLOCK);
	area = vmap_get_area(BLOCK * PAGE_SIZE, VM_MAP, PAGE_KERNEL, memory->pages,
			     __builtin_return_address(0));
	KUNIT_ASSERT_NOT_NULL(test, area);
	addr = (unsigned long)area->addr;
	KUNIT_EXPECT_EQ(test, vmap_fill_area(addr, addr + BLOCK * PAGE_SIZE, PAGE_KERNEL,
					     memory->pages, VM_MAP), 0);
	memset(page_address(memory->pages[5]), 0xa5, PAGE_SIZE);
	memset(vec.iov_base, 0xff, PAGE_SIZE);
	iov_iter_kvec(&iter, ITER_DEST, &vec, 1, PAGE_SIZE);
	KUNIT_EXPECT_EQ(test, vread_iter(&iter, (void *)(addr + 5 * PAGE_SIZE), PAGE_SIZE),
			PAGE_SIZE);
	KUNIT_EXPECT_NULL(test, memchr_inv(vec.iov_base, 0, PAGE_SIZE));
	vunmap((void *)addr);
}

/**
 * struct vmap_reader - a thread that reads like /proc/kcore, again and again
 * @from: what it reads
 * @into: where to
 * @hold: interrupts it again and again, so that it does not go on
 * @held: whether to go on with that
 * @times: how often it was interrupted
 * @walks: whether it is held inside vmalloc_to_page(), which walks the page table
 */
struct vmap_reader {
	const char *from;
	char *into;
	struct irq_work hold;
	bool held;
	unsigned int times;
	bool walks;
};

static int vmap_read_forever(void *data)
{
	struct vmap_reader *reader = data;
	struct kvec vec = { .iov_base = reader->into, .iov_len = PAGE_SIZE };
	unsigned long i = 0;

	while (!kthread_should_stop()) {
		const char *from = READ_ONCE(reader->from);
		struct iov_iter iter;

		iov_iter_kvec(&iter, ITER_DEST, &vec, 1, PAGE_SIZE);
		/* A short read, because the page table is walked for each of them. */
		if (from)
			vread_iter(&iter, from + i++ % BLOCK * PAGE_SIZE, sizeof(u64));
		cond_resched();
	}

	return 0;
}

/*
 * Read an address like /proc/kcore while vmap() maps it by PTEs and by a huge PMD
 * mapping in turns, and so frees a page table in every second round. No reader may be
 * in that table. With DEBUG_PAGEALLOC, such a reader would fault.
 */
void vmap_kunit_vread_beside(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_reader reader = {};
	struct task_struct *task;
	unsigned long round;
	void *addr;

	reader.into = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader.into);
	task = kthread_run(vmap_read_forever, &reader, "vmap_kunit");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));
	for (round = 0; round < ROUNDS; round++) {
		vmap_kunit_fill(memory, 0, BLOCK);
		if (round % 2)
			swap(memory->pages[1], memory->pages[2]);
		addr = vmap(memory->pages, BLOCK, VM_MAP, PAGE_KERNEL);
		if (!addr)
			break;
		WRITE_ONCE(reader.from, addr);
		cond_resched();
		vunmap(addr);
		/* Purge freed areas, so that the next one gets this address again. */
		vm_unmap_aliases();
	}
	kthread_stop(task);
	KUNIT_EXPECT_EQ(test, round, ROUNDS);
}

/* Interrupts of other CPUs do not set irq_regs on all architectures, so unwind the stack. */
static bool vmap_reader_walks(void)
{
	unsigned long entries[16], start = (unsigned long)vmalloc_to_page, size;
	unsigned int i, found;

	if (!kallsyms_lookup_size_offset(start, &size, NULL))
		return false;
	found = stack_trace_save(entries, ARRAY_SIZE(entries), 0);
	for (i = 0; i < found; i++) {
		if (entries[i] - start < size)
			return true;
	}

	return false;
}

/*
 * Runs on the CPU of the reader. The next interrupt is there before this one ends, so the
 * reader stays where it is, but interrupts of other CPUs come in between.
 */
static void vmap_reader_hold(struct irq_work *work)
{
	struct vmap_reader *reader = container_of(work, struct vmap_reader, hold);

	if (!reader->times)
		reader->walks = vmap_reader_walks();
	/* Publish @walks; pairs with vmap_hold(). */
	smp_store_release(&reader->times, reader->times + 1);
	if (READ_ONCE(reader->held) && reader->times < LONGEST)
		irq_work_queue(work);
	udelay(1);
}

static void vmap_let_go(struct vmap_reader *reader)
{
	WRITE_ONCE(reader->held, false);
	irq_work_sync(&reader->hold);
}

/* Hold the reader inside vmalloc_to_page(). After TRIES attempts, hold it wherever it is. */
static void vmap_hold(struct vmap_reader *reader, int cpu)
{
	unsigned int tries, spins;

	for (tries = 1; ; tries++) {
		for (spins = get_random_u32_below(200); spins; spins--)
			cpu_relax();
		WRITE_ONCE(reader->times, 0);
		WRITE_ONCE(reader->held, true);
		irq_work_queue_on(&reader->hold, cpu);
		/* Read @walks after it; pairs with vmap_reader_hold(). */
		while (!smp_load_acquire(&reader->times))
			cpu_relax();
		if (reader->walks || tries == TRIES)
			return;
		vmap_let_go(reader);
	}
}

/*
 * Map single pages, which makes a table, and then a block by a huge PMD mapping in its
 * place. Hold the reader meanwhile, and count how often it was in the table: if it may,
 * in @shown, and if it may not, in @hidden.
 */
static bool vmap_replace_table(struct vmap_memory *memory, struct vmap_reader *reader, int cpu,
			       unsigned int *shown, unsigned int *hidden)
{
	struct vm_struct *area;
	unsigned long addr;
	void *small;
	int err;

	vmap_kunit_fill(memory, 0, BLOCK);
	swap(memory->pages[1], memory->pages[2]);
	small = vmap(memory->pages, BLOCK, VM_MAP, PAGE_KERNEL);
	if (!small)
		return false;
	WRITE_ONCE(reader->from, small);
	vmap_hold(reader, cpu);
	*shown += reader->walks;
	vmap_let_go(reader);
	vunmap(small);
	/* Purge freed areas, so that the next one gets this address again. */
	vm_unmap_aliases();

	vmap_kunit_fill(memory, 0, BLOCK);
	area = vmap_get_area(BLOCK * PAGE_SIZE, VM_MAP, PAGE_KERNEL, memory->pages,
			     __builtin_return_address(0));
	if (!area)
		return false;
	addr = (unsigned long)area->addr;
	vmap_hold(reader, cpu);
	*hidden += reader->walks;
	err = vmap_fill_area(addr, addr + BLOCK * PAGE_SIZE, PAGE_KERNEL, memory->pages, VM_MAP);
	vmap_let_go(reader);
	vunmap(area->addr);
	vm_unmap_aliases();

	return !err;
}

/*
 * As above, but interrupts hold the reader while the table is freed, so that the moment
 * in which it could be in the table is as long as that. It must never be there. If it
 * were, it would also fault with DEBUG_PAGEALLOC.
 *
 * If nothing kept the reader out, it was in the table about as often in both halves of a
 * round.
 *
 * An interrupt takes milliseconds where a hypervisor runs one CPU after the other. The
 * reader may then never be met inside the table.
 */
void vmap_kunit_vread_held(struct kunit *test)
{
	struct vmap_memory *memory = test->priv;
	struct vmap_reader reader = { .hold = IRQ_WORK_INIT_HARD(vmap_reader_hold) };
	unsigned int shown = 0, hidden = 0;
	unsigned long round = 0, end;
	struct task_struct *task;
	bool mapped = true;
	int cpu;

	reader.into = kunit_kmalloc(test, PAGE_SIZE, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, reader.into);
	migrate_disable();
	cpu = cpumask_any_but(cpu_online_mask, smp_processor_id());
	if (cpu < nr_cpu_ids) {
		task = kthread_create_on_cpu(vmap_read_forever, &reader, cpu, "vmap_kunit/%u");
		if (!IS_ERR(task)) {
			wake_up_process(task);
			end = jiffies + HELD_TIME;
			for (; mapped && round < HELD && time_before(jiffies, end); round++)
				mapped = vmap_replace_table(memory, &reader, cpu,
							    &shown, &hidden);
			kthread_stop(task);
		}
	}
	migrate_enable();
	if (cpu >= nr_cpu_ids)
		kunit_skip(test, "the reader needs a CPU of its own");
	kunit_info(test, "held in the table in %u of %lu rounds\n", shown, round);
	KUNIT_EXPECT_TRUE(test, mapped);
	KUNIT_EXPECT_GT(test, round, 0);
	KUNIT_EXPECT_EQ(test, hidden, 0);
	if (!IS_ENABLED(CONFIG_KALLSYMS))
		kunit_skip(test, "nothing tells where the reader is");
	if (!shown && round < HELD)
		kunit_skip(test, "the CPUs run one after the other");
	KUNIT_EXPECT_GT(test, shown, 0);
}
