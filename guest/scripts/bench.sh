# SPDX-License-Identifier: GPL-2.0-only
# Count the instructions of memmap_init_zone_device() by method, all in one boot.
# Sourced. ROUNDS and METHODS come from /settings. Under -icount the TSC
# advances by one with each instruction.

. /settings
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control
echo x86-tsc >$TRACING/trace_clock
echo "p:mi $INIT" >>$TRACING/kprobe_events
echo "r:mo $INIT" >>$TRACING/kprobe_events

# How many pages the last call said it has initialised.
pages() { dmesg | sed -n "s/.*$INIT initialised \([0-9]*\) pages.*/\1/p" | tail -n 1; }

again() { unbind "$1" "$2" && bind "$1" "$2"; }

# measure CASE DRIVER: rounds of all methods, so that each is paired with base.
measure() {
	device=$(bound "$2")
	again "$2" "$device"
	value "$1 items" "$(pages)"
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		for method in $METHODS; do
			choose "${method/control/base}" || continue # base a second time
			value "$1 $method" "$(counted mi mo again "$2" "$device")"
		done
		round=$((round + 1))
	done
	echo auto >$METHOD
}

load() { insmod /modules/test_hmm.ko && rmmod test_hmm; }

# What it takes to make device-private memory of test_hmm's ranges.
measure_hmm() {
	echo 0 >$TRACING/events/kprobes/enable
	echo >$TRACING/kprobe_events
	echo 'p:hi memremap_pages' >>$TRACING/kprobe_events
	echo 'r:ho memremap_pages' >>$TRACING/kprobe_events
	load
	value "hmm items" "$(pages)"
	round=0
	while [ "$round" -lt "$HMM_ROUNDS" ]; do
		for method in $METHODS; do
			choose "${method/control/base}" || continue
			value "hmm $method" "$(counted hi ho load)"
		done
		round=$((round + 1))
	done
	echo auto >$METHOD
}

check "bench: fsdax namespace" namespace -m fsdax -M dev && measure fsdax nd_pmem
check "bench: devdax namespace" namespace -m devdax -a 2M -M dev && measure devdax-2m dax_pmem
measure_hmm
