// SPDX-License-Identifier: GPL-2.0-only
/* Methods to copy large folios, and the parameter that chooses one of them. */

#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "folio_copy_method.h"
#include "internal.h"
#include "method.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"folio_copy."

unsigned long folio_copy_bulk(void *to, const void *from, unsigned long npages)
{
	return copy_mc_to_kernel(to, from, npages << PAGE_SHIFT);
}

/* The first one is the default. */
static const struct folio_copy_method folio_copy_methods[] = {
	{ "bulk",	folio_copy_bulk },
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
 * folio_copy_chosen - get the way in which the chosen method copies
 *
 * Return: a function that copies pages, or NULL for "base", the kernel's own loop.
 */
folio_copy_fn *folio_copy_chosen(void)
{
	return READ_ONCE(folio_copy_now)->copy;
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
