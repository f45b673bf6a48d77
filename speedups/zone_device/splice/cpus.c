// SPDX-License-Identifier: GPL-2.0-only
// Precedes zone_device_memmap_init() in mm/mm_init.c.

/* The works of so many CPUs fit on the stack. */
#define ZONE_DEVICE_CPUS	8U

unsigned int zone_device_cpus = 4;

/* One CPU takes half a millisecond or more for so much, and another starts in less. */
unsigned long zone_device_share = SZ_16M;

struct zone_device_job {
	const struct zone_device_run *run;
	const struct cpumask *allowed;
	unsigned long chunk;
	unsigned long end_pfn;
	atomic_long_t next_pfn;
};

struct zone_device_helper {
	struct work_struct work;
	struct zone_device_job *job;
};

/* Leave out nohz_full CPUs, and those that the task in user space may not use. */
static bool zone_device_may_use(const struct zone_device_job *job, unsigned int cpu)
{
	return housekeeping_cpu(cpu, HK_TYPE_WQ) && cpumask_test_cpu(cpu, job->allowed);
}

/*
 * Write chunks until none is left. Templates change, so each CPU has its own. A worker can
 * be on another CPU than the one that it is for, and then may have to leave.
 */
static void zone_device_take_part(struct zone_device_job *job, bool helps)
{
	struct zone_device_run run;
	unsigned long pfn;

	memcpy(&run, job->run, sizeof(run));
	while (!helps || zone_device_may_use(job, raw_smp_processor_id())) {
		pfn = atomic_long_fetch_add(job->chunk, &job->next_pfn);
		if (pfn >= job->end_pfn)
			break;
		zone_device_write(&run, pfn, min(pfn + job->chunk, job->end_pfn));
	}
}

static void zone_device_help(struct work_struct *work)
{
	zone_device_take_part(container_of(work, struct zone_device_helper, work)->job, true);
}

/*
 * Nobody waits for a work that has not begun, because there is no worker for it, or its
 * CPU is busy. The others that take part, and this CPU at least, write everything.
 */
static void zone_device_write_all(struct zone_device_run *run, unsigned long pfn,
				  unsigned long end_pfn, int nid)
{
	unsigned long shares = zone_device_bytes(run->pgmap, pfn, end_pfn) / zone_device_share;
	unsigned int most = min3(READ_ONCE(zone_device_cpus), ZONE_DEVICE_CPUS, shares);
	const struct cpumask *near = cpumask_of_node(numa_nearest_node(nid, N_CPU));
	struct zone_device_helper helpers[ZONE_DEVICE_CPUS - 1];
	/* A chunk is a section, or a compound if that is larger. */
	struct zone_device_job job = {
		.run = run,
		.allowed = current->flags & PF_KTHREAD ? cpu_online_mask : current->cpus_ptr,
		.chunk = max(PAGES_PER_SECTION, pgmap_vmemmap_nr(run->pgmap)),
		.end_pfn = end_pfn,
		.next_pfn = ATOMIC_LONG_INIT(pfn),
	};
	unsigned int nr = 0, cpu;

	if (most <= 1) {
		zone_device_write(run, pfn, end_pfn);
		return;
	}

	/* Isolated CPUs may change. */
	rcu_read_lock();
	for_each_cpu_and(cpu, near, cpu_online_mask) {
		if (nr + 1 == most)
			break;
		if (cpu == raw_smp_processor_id() || !zone_device_may_use(&job, cpu) ||
		    !housekeeping_cpu(cpu, HK_TYPE_DOMAIN))
			continue;
		INIT_WORK_ONSTACK(&helpers[nr].work, zone_device_help);
		helpers[nr].job = &job;
		queue_work_on(cpu, system_dfl_wq, &helpers[nr++].work);
	}
	rcu_read_unlock();

	zone_device_take_part(&job, false);

	while (nr--) {
		cancel_work_sync(&helpers[nr].work);
		destroy_work_on_stack(&helpers[nr].work);
	}
}
