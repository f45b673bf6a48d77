// SPDX-License-Identifier: GPL-2.0-only
/*
 * Mutexes. They spin, because a CPU has nothing else to do meanwhile. Spinlocks are the
 * kernel's own, from kernel/locking/spinlock.o and qspinlock.o.
 *
 * asm() gives these functions their names, because some kernels have macros of the names.
 */
#include <linux/atomic.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "hosted.h"
#include "wanted.h"

#ifdef WANTED_mutex_lock
int hosted_mutex_trylock(struct mutex *lock) asm("mutex_trylock");
int hosted_mutex_trylock(struct mutex *lock)
{
	long free = 0;

	return atomic_long_try_cmpxchg_acquire(&lock->owner, &free, (long)current);
}

void hosted_mutex_lock(struct mutex *lock) asm("mutex_lock");
void hosted_mutex_lock(struct mutex *lock)
{
	while (!hosted_mutex_trylock(lock))
		cpu_relax();
}

void hosted_mutex_unlock(struct mutex *lock) asm("mutex_unlock");
void hosted_mutex_unlock(struct mutex *lock)
{
	atomic_long_set_release(&lock->owner, 0);
}
#endif
