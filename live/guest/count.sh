# SPDX-License-Identifier: GPL-2.0-only
# Count the instructions of the kernel's functions and of their replacements in one
# boot: base, patched, base again. Sourced after start.sh. Settings: ROUNDS, SPEEDUPS; PLUG
# (dimm, virtio-mem or dax) to count only how a lot of memory comes and goes, which is offline.
#
# NAME_count() of a speed-up's live/guest.sh calls probe_pair() once, and for
# each case sets the value "CASE items" and calls in_turn().

clock
for name in $SPEEDUPS; do
	optional "${name}_${PLUG:+plug_}count"
done
