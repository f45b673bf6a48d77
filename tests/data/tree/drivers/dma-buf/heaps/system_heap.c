// SPDX-License-Identifier: GPL-2.0-only
// Made up for tests: the hooks find their places, the code means nothing.
#include <linux/toys.h>

static void *system_heap_do_vmap(struct system_heap_buffer *buffer)
{
	struct sg_table *table = &buffer->sg_table;
	int toys = toy_count(buffer->len, 0);
	struct page **array = toy_room(toys, 8);
	struct page **next = array;
	struct sg_page_iter look;
	void *box;

	if (!array)
		return NULL;
	for_each_sgtable_page(table, &look, 0) {
		*next++ = toy_look(&look);
	}
	box = vmap(array, toys, VM_MAP, toy_nx(0));
	vfree(array);
	return box;
}
