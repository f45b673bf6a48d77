// SPDX-License-Identifier: GPL-2.0-only
// In vmap_align_for(): 0, for no alignment, if the method uses no offsets.
	if (!lead)
		return leaf;

	return vmap_steps() & VMAP_PHASE ? 2 * leaf - lead : 0;
