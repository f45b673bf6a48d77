// SPDX-License-Identifier: GPL-2.0-only
// In vmap_align_for(): only some methods use offsets.
	if (!lead)
		return leaf;

	return vmap_steps() & VMAP_PHASE ? 2 * leaf - lead : 0;
