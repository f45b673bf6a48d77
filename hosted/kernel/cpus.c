// SPDX-License-Identifier: GPL-2.0-only
/*
 * The CPUs of the machine. The first is the process's main thread, whose GS base of 0
 * makes %gs:variable the variable's initial copy. Every other CPU is a thread whose
 * GS base leads to a copy of its own. Each has a task, with the state of its FPU.
 */
#include <linux/cpumask.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/topology.h>
#include <asm/processor.h>

#include "hosted.h"
#include "wanted.h"

unsigned long __per_cpu_offset[NR_CPUS];

#ifdef WANTED_this_cpu_off
#ifdef DEFINE_PER_CPU_CACHE_HOT
DEFINE_PER_CPU_CACHE_HOT(unsigned long, this_cpu_off);
#else
DEFINE_PER_CPU_READ_MOSTLY(unsigned long, this_cpu_off);
#endif
#endif

#ifdef WANTED_cpu_number
DEFINE_PER_CPU_CACHE_HOT(int, cpu_number);
#endif

#ifdef WANTED_pcpu_hot
DEFINE_PER_CPU_ALIGNED(struct pcpu_hot, pcpu_hot);
asm(".globl const_pcpu_hot\n.set const_pcpu_hot, pcpu_hot");
#define set_current_task(t)	raw_cpu_write(pcpu_hot.current_task, t)
#else
DEFINE_PER_CPU_CACHE_HOT(struct task_struct *, current_task);
DEFINE_PER_CPU_CACHE_HOT(typeof(__preempt_count), __preempt_count);
asm(".globl const_current_task\n.set const_current_task, current_task");
#define set_current_task(t)	raw_cpu_write(current_task, t)
#endif

#ifdef WANTED___softirq_pending
DEFINE_PER_CPU_CACHE_HOT(u16, __softirq_pending);
#endif

/* Some kernels keep the FPU state right after the task. */
static struct {
	struct task_struct task;
	struct fpu fpu;
} hosted_tasks[HOSTED_CPUS] __aligned(64);

/* Tell where the per-CPU variables of a CPU are, as a distance from the initial copies. */
void hosted_cpu_area(unsigned int cpu, unsigned long offset)
{
	__per_cpu_offset[cpu] = offset;
}

/**
 * hosted_cpu_init - make the current thread a CPU, whose area its GS base leads to
 * @cpu: its number
 *
 * The task of the first CPU is one of user space, and all others are kernel threads.
 */
void hosted_cpu_init(unsigned int cpu)
{
	struct task_struct *task = &hosted_tasks[cpu].task;

#ifdef WANTED_this_cpu_off
	raw_cpu_write(this_cpu_off, __per_cpu_offset[cpu]);
#endif
#ifdef WANTED_cpu_number
	raw_cpu_write(cpu_number, cpu);
#endif
#ifdef WANTED_pcpu_hot
	raw_cpu_write(pcpu_hot.cpu_number, cpu);
#endif
	task->flags = cpu ? PF_KTHREAD : 0;
	task->cpus_ptr = &task->cpus_mask;
	cpumask_setall(&task->cpus_mask);
	set_current_task(task);
	clear_preempt_need_resched();
	hosted_fpu_init();
}

#ifndef nr_cpu_ids
unsigned int nr_cpu_ids = HOSTED_CPUS;
#endif

#ifdef WANTED___cpu_online_mask
struct cpumask __cpu_online_mask;
#endif

#ifdef WANTED___cpu_possible_mask
struct cpumask __cpu_possible_mask;
#endif
#ifdef WANTED___num_possible_cpus
unsigned int __num_possible_cpus = 1;
#endif

/* Let kernel code that prepares itself for the CPUs of the machine find so many. */
void hosted_cpus_possible(unsigned int nr)
{
#ifdef WANTED___num_possible_cpus
	__num_possible_cpus = nr;
#endif
#ifdef WANTED___cpu_possible_mask
	while (nr--)
		cpumask_set_cpu(nr, &__cpu_possible_mask);
#endif
}

#ifdef WANTED_node_to_cpumask_map
cpumask_var_t node_to_cpumask_map[MAX_NUMNODES];
#endif

/* Let kernel code find so many CPUs, which are those of the first node. */
void hosted_cpus_online(unsigned int nr)
{
#ifdef WANTED___cpu_online_mask
	cpumask_clear(&__cpu_online_mask);
	while (nr--)
		cpumask_set_cpu(nr, &__cpu_online_mask);
#endif
#ifdef WANTED_node_to_cpumask_map
	cpumask_setall(node_to_cpumask_map[0]);
#endif
}

/* Confine the task of the first CPU to it, as a user can, or let it use all CPUs. */
void hosted_confine(int confined)
{
	struct cpumask *allowed = &hosted_tasks[0].task.cpus_mask;

	cpumask_setall(allowed);
	if (confined) {
		cpumask_clear(allowed);
		cpumask_set_cpu(0, allowed);
	}
}

/* The second node has no CPU. */
#ifdef WANTED_numa_nearest_node
int numa_nearest_node(int node, unsigned int state)
{
	return 0;
}
#endif
