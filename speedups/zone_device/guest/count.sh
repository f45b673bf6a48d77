# SPDX-License-Identifier: GPL-2.0-only
# Count the instructions of memmap_init_zone_device() by method, all in one boot.
# Under -icount, the TSC advances by one with each instruction. Settings:
# METHODS, of which "control" is base a second time, and ROUNDS.

. /zone_device/lib.sh
# A call for the ranges of test_hmm is short, so it needs more rounds.
hmm_rounds=$((ROUNDS > 10 ? ROUNDS : 10))
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control
echo x86-tsc >$TRACING/trace_clock
echo "p:mi $INIT" >>$TRACING/kprobe_events
echo "r:mo $INIT" >>$TRACING/kprobe_events

# measure CASE DRIVER: count rounds of all methods, so that each pairs with base.
measure() {
	device=$(bound "$2")
	again "$2" "$device"
	value "$1 items" "$(pages)"
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		for method in $METHODS; do
			choose "${method/control/base}" || continue
			value "$1 $method" "$(counted mi mo again "$2" "$device")"
		done
		round=$((round + 1))
	done
	echo auto >$METHOD
}

load() { insmod /modules/test_hmm.ko && rmmod test_hmm; }

# Count what it costs to make device-private memory of test_hmm's ranges.
measure_hmm() {
	echo 0 >$TRACING/events/kprobes/enable
	echo >$TRACING/kprobe_events
	echo 'p:hi memremap_pages' >>$TRACING/kprobe_events
	echo 'r:ho memremap_pages' >>$TRACING/kprobe_events
	load
	value "hmm items" "$(pages)"
	round=0
	while [ "$round" -lt "$hmm_rounds" ]; do
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
