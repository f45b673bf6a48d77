# SPDX-License-Identifier: GPL-2.0-only
# Load all speed-ups into one kernel. Sourced after start.sh and the compare.sh of
# each speed-up. Settings: SPEEDUPS.

for name in $SPEEDUPS; do
	optional "${name}_prepare" stacked
done
for name in $SPEEDUPS; do
	check "stacked: load $name" patch_in "$name"
done
for name in $SPEEDUPS; do
	check "stacked: $name works" "${name}_works"
	check "stacked: $name counted it" grep -q " done [1-9]" "$(counts_of "$name")"
done
for name in $SPEEDUPS; do
	check "stacked: unload $name" patch_out "$name"
done
check "stacked: nothing is left" unpatched
