// SPDX-License-Identifier: GPL-2.0-only
/*
 * Bind device-private memory that does not exist, in a guest with a stock kernel.
 *
 * Write a number of bytes to the parameter, and that much is bound at free physical
 * addresses until another number is written; 0 for none. Read the first PFN and the
 * number of pages from it. Nobody ever gets one of these pages.
 */

#include <linux/err.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/memremap.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>
#include <linux/sysfs.h>
#include <linux/version.h>

#ifdef CONFIG_DEVICE_PRIVATE
static struct dev_pagemap private_pgmap;
static struct resource *private_memory;

static vm_fault_t private_migrate_to_ram(struct vm_fault *vmf)
{
	return VM_FAULT_SIGBUS;
}

#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
static void private_free(struct page *page)
{
}
#else
static void private_free(struct folio *folio)
{
}
#endif

static const struct dev_pagemap_ops private_ops = {
#if LINUX_VERSION_CODE < KERNEL_VERSION(7, 0, 0)
	.page_free = private_free,
#else
	.folio_free = private_free,
#endif
	.migrate_to_ram = private_migrate_to_ram,
};

static void private_release(void)
{
	release_mem_region(private_memory->start, resource_size(private_memory));
	private_memory = NULL;
}

static void private_unbind(void)
{
	if (!private_memory)
		return;
	memunmap_pages(&private_pgmap);
	private_release();
}

static int private_set(const char *val, const struct kernel_param *kp)
{
	struct resource *found;
	void *bound;
	u64 bytes;
	int err;

	err = kstrtoull(val, 0, &bytes);
	if (err)
		return err;
	private_unbind();
	if (!bytes)
		return 0;

	found = request_free_mem_region(&iomem_resource, bytes, KBUILD_MODNAME);
	if (IS_ERR(found))
		return PTR_ERR(found);

	private_memory = found;
	memset(&private_pgmap, 0, sizeof(private_pgmap));
	private_pgmap.type = MEMORY_DEVICE_PRIVATE;
	private_pgmap.range.start = found->start;
	private_pgmap.range.end = found->end;
	private_pgmap.nr_range = 1;
	private_pgmap.ops = &private_ops;
	private_pgmap.owner = &private_pgmap;
	bound = memremap_pages(&private_pgmap, 0);
	if (IS_ERR(bound))
		private_release();
	return PTR_ERR_OR_ZERO(bound);
}

static int private_get(char *buffer, const struct kernel_param *kp)
{
	if (!private_memory)
		return sysfs_emit(buffer, "0 0\n");
	return sysfs_emit(buffer, "%llu %llu\n", (u64)PHYS_PFN(private_memory->start),
			  (u64)PHYS_PFN(resource_size(private_memory)));
}

static const struct kernel_param_ops private_param_ops = {
	.set = private_set,
	.get = private_get,
};

module_param_cb(bytes, &private_param_ops, NULL, 0600);
MODULE_PARM_DESC(bytes, "bytes to keep bound; then the first PFN and the number of pages");
#else
static void private_unbind(void)
{
}
#endif

static int __init private_init(void)
{
	return 0;
}

static void __exit private_exit(void)
{
	private_unbind();
}

module_init(private_init);
module_exit(private_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("mmbatch: bind device-private memory, for tests in guests");
