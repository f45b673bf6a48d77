// SPDX-License-Identifier: GPL-2.0-only
// Tells asm/copy_pages.h whether the platform needs copy_mc_fragile().

/* Whether this platform must copy word by word to survive poison. */
bool copy_mc_is_fragile(void)
{
	return copy_mc_fragile_enabled;
}
