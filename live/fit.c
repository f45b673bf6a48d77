// SPDX-License-Identifier: GPL-2.0-only
/*
 * Check that the running kernel is the one that the module was built for.
 *
 * A module's version magic and its symbol versions verify much of that. But only
 * the kernel's own description of its types (BTF) shows whether the members of a
 * struct have the offsets that the compiler used.
 */

#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/bpf.h>
#include <linux/btf.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/ftrace.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "live.h"

/* No struct of the kernel nests more nameless structs around a member. */
#define LIVE_MAX_DEPTH	8

static const struct btf *live_btf(void)
{
	const struct btf *btf = bpf_get_btf_vmlinux();

	if (IS_ERR_OR_NULL(btf)) {
		pr_err("refusing: this kernel doesn't describe its types (CONFIG_DEBUG_INFO_BTF)\n");
		return NULL;
	}

	return btf;
}

static const struct btf_type *live_plain(const struct btf *btf, u32 id)
{
	return btf_type_skip_modifiers(btf, id, NULL);
}

/* Size in bytes, or 0 if the type has none. */
static u32 live_size(const struct btf *btf, u32 id)
{
	const struct btf_type *type = live_plain(btf, id);
	const struct btf_array *array;

	if (!type)
		return 0;

	switch (BTF_INFO_KIND(type->info)) {
	case BTF_KIND_INT:
	case BTF_KIND_STRUCT:
	case BTF_KIND_UNION:
	case BTF_KIND_ENUM:
	case BTF_KIND_ENUM64:
		return type->size;
	case BTF_KIND_PTR:
		return sizeof(void *);
	case BTF_KIND_ARRAY:
		array = btf_array(type);
		return array->nelems * live_size(btf, array->type);
	}

	return 0;
}

/* Look for a member, including inside nameless structs and unions. */
static bool live_find(const struct btf *btf, const struct btf_type *type,
		      const char *name, unsigned int depth, u32 *offset,
		      u32 *size)
{
	const struct btf_member *member = btf_type_member(type);
	const struct btf_type *inner;
	unsigned int i;

	for (i = 0; i < btf_type_vlen(type); i++, member++) {
		u32 at = *offset + __btf_member_bit_offset(type, member) / 8;
		const char *called = btf_name_by_offset(btf, member->name_off);

		if (called && !strcmp(called, name)) {
			*offset = at;
			*size = live_size(btf, member->type);
			return true;
		}
		inner = live_plain(btf, member->type);
		if (called && !*called && inner && depth < LIVE_MAX_DEPTH &&
		    btf_type_is_struct(inner)) {
			u32 deeper = at;

			if (live_find(btf, inner, name, depth + 1, &deeper, size)) {
				*offset = deeper;
				return true;
			}
		}
	}

	return false;
}

static const struct btf_type *live_struct(const struct btf *btf, const char *name)
{
	s32 id = btf_find_by_name_kind(btf, name, BTF_KIND_STRUCT);

	if (id > 0)
		return btf_type_by_id(btf, id);

	pr_err("refusing: this kernel has no struct %s\n", name);
	return NULL;
}

static bool live_place_fits(const struct btf *btf, const struct btf_type *type,
			    const struct live_place *place)
{
	u32 offset = 0, size = 0;

	if (!place->member) {
		if (type->size == place->size)
			return true;
		pr_err("refusing: struct %s has %u bytes here, and the module was built for %u\n",
		       place->type, type->size, place->size);
		return false;
	}

	if (!live_find(btf, type, place->member, 0, &offset, &size)) {
		pr_err("refusing: struct %s has no member %s here\n",
		       place->type, place->member);
		return false;
	}
	if (offset == place->offset && size == place->size)
		return true;

	pr_err("refusing: %s of struct %s is at %u with %u bytes here, and the module was built for %u with %u\n",
	       place->member, place->type, offset, size, place->offset, place->size);
	return false;
}

/**
 * live_check_places - compare the layout of structs with that of this kernel
 * @places: what the compiler saw, ordered by struct
 * @nr: number of places
 *
 * Return: 0, or -ENOEXEC after logging what differs.
 */
int live_check_places(const struct live_place *places, unsigned int nr)
{
	const struct btf *btf = live_btf();
	const struct btf_type *type = NULL;
	unsigned int i;

	if (!btf)
		return -ENOEXEC;

	for (i = 0; i < nr; i++) {
		/* A search walks all types, so search once for all members. */
		if (!i || strcmp(places[i].type, places[i - 1].type))
			type = live_struct(btf, places[i].type);
		if (!type || !live_place_fits(btf, type, &places[i]))
			return -ENOEXEC;
	}

	return 0;
}

/* Whether a type is the one that a signature calls @wanted. */
static bool live_type_fits(const struct btf *btf, u32 id, const char *wanted)
{
	const struct btf_type *type = live_plain(btf, id), *target;
	const char *name;
	size_t length;
	u32 size;

	if (!strcmp(wanted, "void"))
		return !id;
	if (!type)
		return false;

	target = btf_type_is_ptr(type) ? live_plain(btf, type->type) : NULL;
	if (target && BTF_INFO_KIND(target->info) != BTF_KIND_STRUCT)
		target = NULL;

	if (!strstarts(wanted, "struct "))
		return !target && !kstrtou32(wanted, 10, &size) &&
		       live_size(btf, id) == size;

	if (!target)
		return false;
	wanted += strlen("struct ");
	name = btf_name_by_offset(btf, target->name_off);
	length = strcspn(wanted, " ");
	return name && strlen(name) == length && !strncmp(name, wanted, length);
}

static bool live_signature_fits(const struct btf *btf,
				const struct live_signature *signature)
{
	s32 id = btf_find_by_name_kind(btf, signature->name, BTF_KIND_FUNC);
	const struct btf_type *func = id > 0 ? btf_type_by_id(btf, id) : NULL;
	const struct btf_type *proto = func ? btf_type_by_id(btf, func->type) : NULL;
	const struct btf_param *param;
	unsigned int i, nr;

	if (!proto) {
		pr_err("refusing: this kernel has no function %s(), or inlines it\n",
		       signature->name);
		return false;
	}

	for (nr = 0; nr < LIVE_MAX_PARAMS && signature->params[nr]; nr++)
		;
	param = btf_params(proto);
	if (btf_type_vlen(proto) != nr ||
	    !live_type_fits(btf, proto->type, signature->returns))
		goto differs;
	for (i = 0; i < nr; i++) {
		if (!live_type_fits(btf, param[i].type, signature->params[i]))
			goto differs;
	}

	return true;

differs:
	pr_err("refusing: %s() has another signature here\n", signature->name);
	return false;
}

/**
 * live_check_signatures - compare the types of functions with this kernel
 * @signatures: what the module expects
 * @nr: number of signatures
 *
 * Return: 0, or -ENOEXEC after logging what differs.
 */
int live_check_signatures(const struct live_signature *signatures,
			  unsigned int nr)
{
	const struct btf *btf = live_btf();
	unsigned int i;

	if (!btf)
		return -ENOEXEC;

	for (i = 0; i < nr; i++) {
		if (!live_signature_fits(btf, &signatures[i]))
			return -ENOEXEC;
	}

	return 0;
}

/**
 * live_check_entry - check that LIVE_ORIGINAL() can enter a function
 * @entry: the function
 *
 * Return: 0, or -ENOEXEC after logging the reason.
 */
int live_check_entry(const struct live_entry *entry)
{
	unsigned long address = (unsigned long)entry->address;

	if (ftrace_location(address) == address + entry->bytes)
		return 0;

	pr_err("refusing: %s() has no ftrace location at its entry\n",
	       entry->name);
	return -ENOEXEC;
}
