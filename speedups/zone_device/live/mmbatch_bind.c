// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bind device-private memory that does not exist, and measure how long it takes.
 *
 * Write a number of bytes to the parameter "private". That much memory is bound at
 * free physical addresses, and unbound before the write returns. Then read the
 * parameter: it has the nanoseconds that memremap_pages() took, the number of pages,
 * and a digest of their memmap, which is 0 unless the parameter "digest" is Y.
 * Nobody ever gets one of these pages.
 */

#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/sched.h>
#include <linux/sizes.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/topology.h>

#include "mmbatch_bind_compat.h"

/* Memory is added in subsections. The parameters of a module have one lock. */
#define BIND_ALIGN	SZ_2M

#define BIND_PRIME	0x100000001b3ULL

static struct dev_pagemap bind_pgmap;
static unsigned long bind_nr_pages;
static u64 bind_ns;
static u64 bind_digest;

static int bind_node;
module_param_named(node, bind_node, int, 0444);
MODULE_PARM_DESC(node, "NUMA node of the memory: that of the CPU that loaded this");

static bool bind_wants_digest;
module_param_named(digest, bind_wants_digest, bool, 0600);
MODULE_PARM_DESC(digest, "Compute a digest of the memmap, after the time is taken");

static vm_fault_t bind_migrate_to_ram(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

static void bind_free(BIND_FREE_PARAM)
{
}

static const struct dev_pagemap_ops bind_ops = {
	.BIND_FREE = bind_free,
	.migrate_to_ram = bind_migrate_to_ram,
};

/*
 * All calls bind the same addresses with the same dev_pagemap. So each word of the
 * memmap must be the same, whoever wrote it. The module's own address is left out,
 * because it changes when it is loaded again.
 */
static u64 bind_make_digest(unsigned long pfn, unsigned long nr)
{
	u64 digest = 0xcbf29ce484222325ULL;
	unsigned long i;
	unsigned int k;

	for (i = 0; i < nr; i++) {
		const u64 *words = (const u64 *)pfn_to_page(pfn + i);

		for (k = 0; k < sizeof(struct page) / sizeof(u64); k++) {
			u64 word = words[k];

			if (word == (unsigned long)&bind_pgmap)
				word = 1;
			digest = (digest ^ word) * BIND_PRIME;
		}
		if (!(i % PAGES_PER_SECTION))
			cond_resched();
	}

	return digest;
}

static int bind_private_set(const char *val, const struct kernel_param *kp)
{
	struct resource *found;
	u64 bytes, start;
	void *bound;
	int err;

	err = kstrtoull(val, 0, &bytes);
	if (err)
		return err;
	if (!bytes || !IS_ALIGNED(bytes, BIND_ALIGN))
		return -EINVAL;

	found = request_free_mem_region(&iomem_resource, bytes, KBUILD_MODNAME);
	if (IS_ERR(found))
		return PTR_ERR(found);

	memset(&bind_pgmap, 0, sizeof(bind_pgmap));
	bind_pgmap.type = MEMORY_DEVICE_PRIVATE;
	bind_pgmap.range.start = found->start;
	bind_pgmap.range.end = found->end;
	bind_pgmap.nr_range = 1;
	bind_pgmap.ops = &bind_ops;
	bind_pgmap.owner = &bind_pgmap;

	start = ktime_get_ns();
	bound = memremap_pages(&bind_pgmap, bind_node);
	bind_ns = ktime_get_ns() - start;
	bind_nr_pages = PHYS_PFN(bytes);
	bind_digest = 0;
	if (!IS_ERR(bound)) {
		if (bind_wants_digest)
			bind_digest = bind_make_digest(PHYS_PFN(found->start),
						       bind_nr_pages);
		memunmap_pages(&bind_pgmap);
	}
	release_mem_region(found->start, bytes);

	return PTR_ERR_OR_ZERO(bound);
}

static int bind_private_get(char *buffer, const struct kernel_param *kp)
{
	return sysfs_emit(buffer, "%llu %lu %016llx\n", bind_ns, bind_nr_pages,
			  bind_digest);
}

static const struct kernel_param_ops bind_private_ops = {
	.set = bind_private_set,
	.get = bind_private_get,
};

module_param_cb(private, &bind_private_ops, NULL, 0600);
MODULE_PARM_DESC(private, "Bytes to bind and unbind; then nanoseconds, pages and digest");

static int __init bind_init(void)
{
	bind_node = numa_mem_id();
	return 0;
}

static void __exit bind_exit(void)
{
}

module_init(bind_init);
module_exit(bind_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: bind device-private memory and measure how long it takes");
