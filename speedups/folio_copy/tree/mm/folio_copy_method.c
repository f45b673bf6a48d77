// SPDX-License-Identifier: GPL-2.0-only
/* Methods to copy large folios, and the parameter that chooses one of them. */

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "folio_copy_method.h"
#include "internal.h"
#include "method.h"

#ifdef can_copy_pages

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"folio_copy."

unsigned long folio_copy_mc_bulk(void *to, const void *from, unsigned long npages)
{
	return copy_mc_pages(to, from, npages);
}

static unsigned long folio_copy_memcpy(void *to, const void *from,
				       unsigned long npages)
{
	memcpy(to, from, npages << PAGE_SHIFT);
	return 0;
}

static unsigned long folio_copy_mc_memcpy(void *to, const void *from,
					  unsigned long npages)
{
#ifdef copy_mc_to_kernel
	return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);
#else
	return folio_copy_memcpy(to, from, npages);
#endif
}

/* The first one is the default. */
static const struct folio_copy_method folio_copy_methods[] = {
	{ "bulk",	folio_copy_bulk,	folio_copy_mc_bulk },
	{ "memcpy",	folio_copy_memcpy,	folio_copy_mc_memcpy },
	{ "base" },
};

static const struct folio_copy_method *folio_copy_now = folio_copy_methods;

/**
 * folio_copy_method_at - enumerate the methods
 * @i: index, from 0
 *
 * Return: the method, or NULL after the last.
 */
const struct folio_copy_method *folio_copy_method_at(unsigned int i)
{
	return i < ARRAY_SIZE(folio_copy_methods) ? &folio_copy_methods[i] : NULL;
}

/**
 * folio_copy_by_range - get whether the chosen method copies pages together
 *
 * Return: true if it does; false for "base", which is the kernel's own loop.
 */
bool folio_copy_by_range(void)
{
	return READ_ONCE(folio_copy_now)->copy;
}

/**
 * folio_copy_chosen - get the way in which the chosen method copies
 * @nr: number of pages
 * @mc: whether it must survive machine checks
 *
 * A single page is copied plainly, and so are more if the method was set to "base" after
 * folio_copy_by_range().
 *
 * Return: a function that copies pages.
 */
folio_copy_fn *folio_copy_chosen(unsigned long nr, bool mc)
{
	const struct folio_copy_method *method = READ_ONCE(folio_copy_now);

	if (nr == 1 || !method->copy)
		return mc ? folio_copy_mc_bulk : folio_copy_bulk;

	return mc ? method->copy_mc : method->copy;
}

/**
 * folio_copy_set_method - choose how later calls copy more than one page
 * @name: name of a method; "base" copies pages one by one
 *
 * A call that is running finishes with the method that it began with.
 *
 * Return: 0, or -EINVAL for an unknown name.
 */
int folio_copy_set_method(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(folio_copy_methods); i++) {
		if (!sysfs_streq(name, folio_copy_methods[i].name))
			continue;
		WRITE_ONCE(folio_copy_now, &folio_copy_methods[i]);
		return 0;
	}

	return -EINVAL;
}

/**
 * folio_copy_method - get the name of the chosen method
 *
 * Return: a name that is never freed.
 */
const char *folio_copy_method(void)
{
	return READ_ONCE(folio_copy_now)->name;
}

DEFINE_METHOD_PARAM(folio_copy);
MODULE_PARM_DESC(method, "How large folios are copied, or base to copy page by page");

#endif /* can_copy_pages */
