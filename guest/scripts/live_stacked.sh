# SPDX-License-Identifier: GPL-2.0-only
# All speed-ups in one kernel, in any order. Sourced after live_start.sh,
# live_vmap.sh and live_folio_copy.sh. Settings: SPEEDUPS.

works() { maps 9 4 4 && same_copies && again nd_pmem "$(bound nd_pmem)"; }

check "stacked: namespace" namespace -m fsdax -M mem
for name in $SPEEDUPS; do
	check "stacked: load $name" patch_in "$name"
done
check "stacked: all work" works
before=$(patched)
again nd_pmem "$(bound nd_pmem)"
check "stacked: ours runs" test "$(patched)" -eq $((before + 1))
for name in $SPEEDUPS; do
	check "stacked: unload $name" patch_out "$name"
done
check "stacked: nothing is left" unpatched
