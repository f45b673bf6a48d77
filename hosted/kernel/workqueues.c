// SPDX-License-Identifier: GPL-2.0-only
/*
 * Work items. Those of the unbound workqueue run on the CPU for which they are queued.
 * Those of other queues run when somebody waits for them, if ever: a bench that needs
 * their effect calls the function.
 *
 * asm() gives these functions their names, because they are defined with one type for
 * all kernels.
 */
#include <linux/bitops.h>
#include <linux/workqueue.h>

#include "hosted.h"
#include "wanted.h"

#ifdef WANTED_system_percpu_wq
struct workqueue_struct *system_percpu_wq;
#endif
#ifdef WANTED_system_wq
struct workqueue_struct *system_wq;
#endif

/* Nothing looks inside. */
static char hosted_unbound;

#ifdef WANTED_system_dfl_wq
struct workqueue_struct *system_dfl_wq = (void *)&hosted_unbound;
#endif
#ifdef WANTED_system_unbound_wq
struct workqueue_struct *system_unbound_wq = (void *)&hosted_unbound;
#endif

static void hosted_work_run(void *data)
{
	struct work_struct *work = data;

	clear_bit(WORK_STRUCT_PENDING_BIT, work_data_bits(work));
	work->func(work);
}

#ifdef WANTED_queue_work_on
bool hosted_queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
	asm("queue_work_on");
bool hosted_queue_work_on(int cpu, struct workqueue_struct *wq, struct work_struct *work)
{
	if (test_and_set_bit(WORK_STRUCT_PENDING_BIT, work_data_bits(work)))
		return false;
	if (wq == (void *)&hosted_unbound)
		hosted_work_queue(cpu, hosted_work_run, work);
	return true;
}
#endif

/* Not for those of the unbound workqueue. */
#ifdef WANTED_flush_work
bool hosted_flush_work(struct work_struct *work) asm("flush_work");
bool hosted_flush_work(struct work_struct *work)
{
	if (!work_pending(work))
		return false;
	hosted_work_run(work);
	return true;
}
#endif

#ifdef WANTED_cancel_work_sync
bool hosted_cancel_work_sync(struct work_struct *work) asm("cancel_work_sync");
bool hosted_cancel_work_sync(struct work_struct *work)
{
	bool queued = hosted_work_end(work);

	clear_bit(WORK_STRUCT_PENDING_BIT, work_data_bits(work));
	return queued;
}
#endif
