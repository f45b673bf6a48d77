// SPDX-License-Identifier: GPL-2.0-only
/*
 * Static keys. Objects that objtool did not process have a jump at each branch,
 * whatever the key says. So all branches are set at the start, as at boot, and
 * again when kernel code changes a key.
 */
#include <linux/atomic.h>
#include <linux/jump_label.h>
#include <linux/string.h>
#include <linux/unaligned.h>

#include "hosted.h"
#include "wanted.h"

extern struct jump_entry hosted_jump_start[], hosted_jump_end[];
extern char hosted_stub_start[], hosted_stub_end[];

enum { HOSTED_RAISED = 64 };

static const u8 nop2[] = { 0x66, 0x90 };
static const u8 nop5[] = { 0x0f, 0x1f, 0x44, 0x00, 0x00 };

static void hosted_branch_set(const struct jump_entry *entry, bool jump)
{
	u8 *text = (u8 *)jump_entry_code(entry);
	s64 distance = jump_entry_target(entry) - (unsigned long)text;
	bool is_short = text[0] == 0xeb || text[0] == nop2[0];

	if (!jump) {
		memcpy(text, is_short ? nop2 : nop5,
		       is_short ? sizeof(nop2) : sizeof(nop5));
	} else if (is_short) {
		text[0] = 0xeb;
		text[1] = distance - 2;
	} else {
		text[0] = 0xe9;
		put_unaligned((s32)(distance - 5), (s32 *)(text + 1));
	}
}

/* A key that no linked object defines is never enabled. */
static bool hosted_key_enabled(struct static_key *key)
{
	if ((char *)key >= hosted_stub_start && (char *)key < hosted_stub_end)
		return false;
	return atomic_read(&key->enabled) > 0;
}

void hosted_branches_apply(void)
{
	const struct jump_entry *entry;

	for (entry = hosted_jump_start; entry < hosted_jump_end; entry++) {
		bool enabled = hosted_key_enabled(jump_entry_key(entry));

		hosted_branch_set(entry, enabled != jump_entry_is_branch(entry));
	}
}

/* Keys that were raised since hosted_keys_restore(). */
static struct static_key *hosted_raised[HOSTED_RAISED];
static unsigned int hosted_nr_raised;

#ifdef WANTED_static_key_slow_inc
bool static_key_slow_inc(struct static_key *key)
{
	if (hosted_nr_raised == HOSTED_RAISED)
		hosted_die("more static keys were raised than hosted_raised holds");
	hosted_raised[hosted_nr_raised++] = key;
	atomic_inc(&key->enabled);
	hosted_branches_apply();
	return true;
}
#endif

void hosted_keys_restore(void)
{
	while (hosted_nr_raised)
		atomic_dec(&hosted_raised[--hosted_nr_raised]->enabled);
	hosted_branches_apply();
}
