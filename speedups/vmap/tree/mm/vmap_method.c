// SPDX-License-Identifier: GPL-2.0-only
/* Methods for mapping contiguous memory, and the parameter that chooses one. */

#include "method.h"
#include "vmap_internal.h"

#undef MODULE_PARAM_PREFIX
#define MODULE_PARAM_PREFIX	"vmap."

#define STEPS(steps)	(ARCH_VMAP_BATCHES ? (steps) : 0)

/* From "base" on, each method adds a step to the one before; "auto" has them all. */
static const struct vmap_method {
	const char *name;
	unsigned int steps;
} vmap_methods[] = {
	{ "auto",	STEPS(VMAP_ALL) },
	{ "base",	0 },
	{ "runs",	STEPS(VMAP_RUNS) },
	{ "pmd",	STEPS(VMAP_RUNS | VMAP_PMD) },
};

static const struct vmap_method *vmap_chosen = &vmap_methods[0];
unsigned int vmap_chosen_steps __read_mostly = STEPS(VMAP_ALL);

/* Tests set it to 1, so that the leaf entries do not depend on what was mapped before. */
unsigned int vmap_free_blocks __read_mostly = 8;

/**
 * vmap_set_method - choose how later calls map
 * @name: "auto", "base" for the slow path, or one of the methods in between
 *
 * A call that is running may use the old method to find address space and the new
 * one to map, which is harmless. Existing mappings stay as they are.
 *
 * Return: 0, or -EINVAL for an unknown name.
 */
int vmap_set_method(const char *name)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(vmap_methods); i++) {
		if (!sysfs_streq(name, vmap_methods[i].name))
			continue;
		WRITE_ONCE(vmap_chosen, &vmap_methods[i]);
		WRITE_ONCE(vmap_chosen_steps, vmap_methods[i].steps);
		return 0;
	}

	return -EINVAL;
}

/**
 * vmap_method - get the name of the chosen method
 *
 * Return: a name that is never freed.
 */
const char *vmap_method(void)
{
	return READ_ONCE(vmap_chosen)->name;
}

DEFINE_METHOD_PARAM(vmap);
MODULE_PARM_DESC(method, "How contiguous memory is mapped: auto, base, runs or pmd");
