# SPDX-License-Identifier: GPL-2.0-only
# Count the instructions of the kernel's functions and of their replacements in one
# boot: base, patched, base again. Sourced after start.sh. Settings: ROUNDS, SPEEDUPS.
#
# NAME_count() of each speed-up's live/guest.sh calls probe_pair() once, and for
# each case sets the value "CASE items" and calls in_turn().

clock

# in_turn SPEEDUP CASE PAIR COMMAND...: count a command before the speed-up is loaded,
# while it is loaded, and after it is unloaded.
in_turn() {
	turn_speedup=$1 turn_case=$2
	shift 2
	counts "$turn_case" base "$@"
	check "count: load" patch_in "$turn_speedup" || return
	counts "$turn_case" patched "$@"
	check "count: unload" patch_out "$turn_speedup" || return
	counts "$turn_case" control "$@"
}

for name in $SPEEDUPS; do
	"${name}_count"
done
