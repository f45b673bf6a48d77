// SPDX-License-Identifier: GPL-2.0-only
/* Initialise the memmap while another CPU reads it, or while references are traced. */

#include <kunit/test.h>
#include <linux/cpumask.h>
#include <linux/delay.h>
#include <linux/kthread.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/sched.h>

#ifdef CONFIG_DEBUG_PAGE_REF
#include <trace/events/page_ref.h>
#endif

#include "zone_device_kunit.h"
#include "zone_device_method.h"

#define ROUNDS		16U
#define PATIENCE	(20 * HZ)

struct zone_device_reader {
	const struct zone_device_window *window;
	unsigned int published;
	unsigned int seen;
	unsigned int wrong;
};

/* On another CPU: the image must be complete when the plain flag is set. */
static int zone_device_read(void *data)
{
	struct zone_device_reader *reader = data;
	unsigned int round;

	for (round = 1; round <= ROUNDS; round++) {
		while (READ_ONCE(reader->published) != round) {
			if (kthread_should_stop())
				return 0;
			cond_resched();
		}
		/* Pairs with the writer's smp_wmb(): the flag is read first. */
		smp_rmb();
		if (!zone_device_kunit_same(reader->window))
			reader->wrong++;
		/* Pairs with the writer's acquire: the result is stored first. */
		smp_store_release(&reader->seen, round);
	}
	while (!kthread_should_stop())
		usleep_range(100, 200);

	return 0;
}

void zone_device_kunit_publication(struct kunit *test)
{
	struct zone_device_window window = zone_device_kunit_window(PAGES_PER_SECTION, 4096);
	struct zone_device_reader reader = { .window = &window };
	unsigned long late = jiffies + PATIENCE;
	struct task_struct *task;
	unsigned int round;

	if (num_online_cpus() < 2)
		kunit_skip(test, "there is only one CPU");

	zone_device_kunit_describe(MEMORY_DEVICE_GENERIC, 9, PAGES_PER_SECTION, 0);
	zone_device_kunit_expect(test, &window);
	zone_device_kunit_choose(test);

	task = kthread_create(zone_device_read, &reader, "zone_device_read");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));

	/* Reader and writer must stay on different CPUs. */
	migrate_disable();
	kthread_bind(task, cpumask_any_but(cpu_online_mask, smp_processor_id()));
	wake_up_process(task);

	for (round = 1; round <= ROUNDS && time_before(jiffies, late); round++) {
		zone_device_kunit_init(&window);
		/*
		 * Pairs with the reader's smp_rmb(). On x86 this is only a
		 * compiler barrier, so the drain is what makes the test pass.
		 */
		smp_wmb();
		WRITE_ONCE(reader.published, round);
		/* Pairs with the reader's release: it has finished with the memmap. */
		while (smp_load_acquire(&reader.seen) != round &&
		       time_before(jiffies, late))
			cond_resched();
	}
	migrate_enable();
	kthread_stop(task);

	KUNIT_EXPECT_EQ(test, reader.seen, ROUNDS);
	KUNIT_EXPECT_EQ(test, reader.wrong, 0);
}

#ifdef CONFIG_DEBUG_PAGE_REF
static unsigned long zone_device_events;

static void zone_device_count(void *data, struct page *page, int v)
{
	const struct zone_device_window *window = data;

	if (page >= window->from && page < window->from + window->nr + 2 * CANARIES)
		zone_device_events++;
}

/* While references are traced, the slow path runs and raises all events. */
void zone_device_kunit_traced(struct kunit *test)
{
	struct zone_device_window window = zone_device_kunit_window(PAGES_PER_SECTION, 1024);
	unsigned long slow;

	zone_device_kunit_describe(MEMORY_DEVICE_FS_DAX, 0, PAGES_PER_SECTION, 0);
	KUNIT_ASSERT_EQ(test, register_trace_page_ref_set(zone_device_count, &window), 0);

	zone_device_events = 0;
	zone_device_kunit_expect(test, &window);
	slow = zone_device_events;

	KUNIT_EXPECT_EQ(test, zone_device_set_method("copy"), 0);
	zone_device_events = 0;
	zone_device_kunit_init(&window);
	unregister_trace_page_ref_set(zone_device_count, &window);
	tracepoint_synchronize_unregister();

	KUNIT_EXPECT_GE(test, slow, window.nr);
	KUNIT_EXPECT_EQ(test, zone_device_events, slow);
	KUNIT_EXPECT_TRUE(test, zone_device_kunit_same(&window));

	zone_device_events = 0;
	zone_device_kunit_init(&window);
	KUNIT_EXPECT_EQ(test, zone_device_events, 0);
	KUNIT_EXPECT_TRUE(test, zone_device_kunit_same(&window));
}

static int zone_device_toggle(void *data)
{
	while (!kthread_should_stop()) {
		if (!register_trace_page_ref_set(zone_device_count, data)) {
			usleep_range(500, 2000);
			unregister_trace_page_ref_set(zone_device_count, data);
		}
		tracepoint_synchronize_unregister();
		usleep_range(500, 2000);
	}

	return 0;
}

void zone_device_kunit_traced_now_and_then(struct kunit *test)
{
	struct zone_device_window window = zone_device_kunit_window(PAGES_PER_SECTION, 4096);
	unsigned int traced = 0, untraced = 0;
	unsigned long late = jiffies + PATIENCE;
	struct task_struct *task;

	zone_device_kunit_describe(MEMORY_DEVICE_FS_DAX, 9, PAGES_PER_SECTION, 0);
	zone_device_kunit_expect(test, &window);
	zone_device_kunit_choose(test);

	task = kthread_create(zone_device_toggle, &window, "zone_device_toggle");
	KUNIT_ASSERT_FALSE(test, IS_ERR(task));

	/*
	 * Both threads run on one CPU, because an emulator may run stale code
	 * after another CPU has patched it, and the static key of the tracepoint
	 * is in code that runs all the time here.
	 */
	migrate_disable();
	kthread_bind(task, smp_processor_id());
	wake_up_process(task);

	while ((traced < ROUNDS || untraced < ROUNDS) && time_before(jiffies, late)) {
		zone_device_events = 0;
		zone_device_kunit_init(&window);
		KUNIT_EXPECT_TRUE(test, zone_device_kunit_same(&window));
		if (zone_device_events)
			traced++;
		else
			untraced++;
		cond_resched();
	}
	migrate_enable();
	kthread_stop(task);

	KUNIT_EXPECT_GE(test, traced, ROUNDS);
	KUNIT_EXPECT_GE(test, untraced, ROUNDS);
}
#endif
