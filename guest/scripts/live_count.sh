# SPDX-License-Identifier: GPL-2.0-only
# Instructions of memmap_init_zone_device(), the kernel's own against ours, in
# one boot: base, patched, base again. Sourced after live_start.sh. Settings:
# ROUNDS.

echo x86-tsc >$TRACING/trace_clock
echo "p:mi $INIT" >>$TRACING/kprobe_events
echo "r:mo $INIT" >>$TRACING/kprobe_events

# counts CASE VARIANT DRIVER DEVICE
counts() {
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		value "$1 $2" "$(counted mi mo again "$3" "$4")"
		round=$((round + 1))
	done
}

measure() {
	device=$(bound "$2")
	again "$2" "$device"
	value "$1 items" "$(pages)"
	counts "$1" base "$2" "$device"
	check "count: load" patch_in || return
	counts "$1" patched "$2" "$device"
	check "count: unload" patch_out || return
	counts "$1" control "$2" "$device"
}

check "count: fsdax namespace" namespace -m fsdax -M dev && measure fsdax nd_pmem
check "count: devdax namespace" namespace -m devdax -a 2M -M dev && measure devdax-2m dax_pmem
