# SPDX-License-Identifier: GPL-2.0-only
# Functions for scripts that run in a stock kernel. Sourced after /lib.sh, by
# start.sh. It sources live/guest.sh of each speed-up.

PATCHES=/sys/kernel/livepatch
CONTROL=/sys/kernel/debug/dynamic_debug/control

module=mmbatch_$TOOL_SPEEDUP
file=/modules/$module.ko

# drivers: load the stock kernel's own modules, in the order of their dependencies.
drivers() {
	for name in $DRIVER_MODULES; do
		insmod "/modules/$name.ko" || return 1
	done
}

# optional FUNCTION ARGUMENTS...: call a function that not every speed-up defines.
optional() { ! command -v "$1" >/dev/null || "$@"; }

# fault WORDS: report that something went wrong in the background.
fault() { echo "$*" >>/tmp/faults; }

# value_of FILE: print its first line, without starting a process.
value_of() { read -r value <"$1" 2>/dev/null && echo "$value"; }

# patch_in SPEEDUP and patch_out SPEEDUP: wait until the transition has ended.
patch_in() {
	insmod "/modules/mmbatch_$1.ko" || return 1
	while [ "$(value_of "$PATCHES/mmbatch_$1/transition")" = 1 ]; do sleep 0.1; done
	[ "$(value_of "$PATCHES/mmbatch_$1/enabled")" = 1 ] || return 1
	echo "module mmbatch_$1 +p" >$CONTROL
}

patch_out() {
	echo 0 >"$PATCHES/mmbatch_$1/enabled" || return 1
	while [ -d "$PATCHES/mmbatch_$1" ]; do sleep 0.1; done
	# The kernel releases the module a moment after it removes the directory.
	tries=0
	until rmmod "mmbatch_$1"; do
		tries=$((tries + 1))
		[ "$tries" -lt 20 ] || return 1
		sleep 0.1
	done
}

# counts_of SPEEDUP: print the name of the file with what its module has counted.
counts_of() { echo "/sys/module/mmbatch_$1/parameters/counts"; }

# probe_pair NAME FUNCTION: the events NAME_in and NAME_out, at its entry and return.
probe_pair() {
	echo "p:$1_in $2" >>$TRACING/kprobe_events
	echo "r:$1_out $2" >>$TRACING/kprobe_events
}

# clock: let the trace clock advance by one with each instruction, under -icount.
clock() { echo x86-tsc >$TRACING/trace_clock; }

# counts CASE VARIANT PAIR COMMAND...: count ROUNDS runs of a command between the two
# events of PAIR, and set the value "CASE VARIANT" to each count.
counts() {
	counts_case="$1 $2" counts_pair=$3
	shift 3
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		value "$counts_case" "$(counted "${counts_pair}_in" "${counts_pair}_out" "$@")"
		round=$((round + 1))
	done
}

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

# unpatched: succeeds if no livepatch is loaded.
unpatched() { [ -z "$(ls $PATCHES)" ]; }

# tool ARGUMENTS...: run `mmbatch live` with the Python of `mmbatch.guest.stock`.
export HOME=/tmp PYTHONHOME=/usr PYTHONPATH=/mmbatch/src:/mmbatch/site
tool() { python3 -m mmbatch live "$@" 2>&1; }

# says WORDS ARGUMENTS...: succeeds if the tool succeeds and prints the words.
# Columns are as wide as their widest cell, so runs of spaces count as one.
says() {
	words=$1
	shift
	tool "$@" >/tmp/printed || { cat /tmp/printed && return 1; }
	tr -s ' ' </tmp/printed | grep -q -F "$words" || ! cat /tmp/printed
}

# denied WORDS ARGUMENTS...: succeeds if the tool fails and prints the words.
denied() {
	words=$1
	shift
	! tool "$@" >/tmp/printed || return 1
	tr -s ' ' </tmp/printed | grep -q -F "$words" || ! cat /tmp/printed
}

for name in $SPEEDUPS; do
	. "/$name/guest.sh"
done
