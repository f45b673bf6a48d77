# SPDX-License-Identifier: GPL-2.0-only
# Compare the memmap that the patched kernel writes with that of the stock kernel
# before loading and after unloading. Sourced after live/guest/start.sh.

METHODS="base auto movnti copy wide"
CPUS=/sys/module/mmbatch_zone_device/parameters/zone_device.cpus

# same DRIVER DEVICE DIGEST: bind the device again, and check that its memmap is as before.
same() {
	again "$1" "$2" || return 1
	[ "$(image "$1" "$2")" = "$3" ]
}

# counted_as OUTCOME [REASON [NS]]: succeeds if the module has counted a call with pages so.
counted_as() { grep -q "^$INIT $1 [1-9][0-9]* [1-9][0-9]* ${3:-[0-9]*} ${2:-}$" "$(counts_of zone_device)"; }

# helped DRIVER DEVICE DIGEST: bind the device until another CPU takes part in writing its
# memmap. If it is idle, it may come too late for a small one.
helped() {
	for i in $(seq 40); do
		same "$1" "$2" "$3" || return 1
		! grep -q ' help: ' $TRACING/trace || return 0
	done
	return 1
}

# several NAME DRIVER DEVICE DIGEST: check what several CPUs write. A smaller memmap than
# this one is written by one CPU.
several() {
	[ "$(pages)" -ge 524288 ] || return 0
	echo 'p:help mmbatch_zone_device:zone_device_help' >>$TRACING/kprobe_events
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/help/enable
	echo 1 >$CPUS
	check "$1: same memmap, 1 CPU" same "$2" "$3" "$4"
	check "$1: no other CPU took part" test "$(grep -c ' help: ' $TRACING/trace)" = 0
	echo 4 >$CPUS
	check "$1: same memmap, several CPUs" helped "$2" "$3" "$4"
	echo 0 >$TRACING/events/kprobes/help/enable
	echo '-:help' >>$TRACING/kprobe_events
}

# rebound DRIVER DEVICE: let the script of docs/live-measure.md bind it twice with two methods.
rebound() {
	method=$(cat "$METHOD")
	sh /zone_device/rebind.sh "$1" "$2" 'base control movnti' 2 >/tmp/times || return 1
	cat /tmp/times
	[ "$(cut -d ' ' -f 1 /tmp/times | tr '\n' ' ')" = '# base control movnti base control movnti # ' ] &&
		[ "$(grep -c ' ms [0-9]* pages$' /tmp/times)" = 6 ] && [ "$(cat "$METHOD")" = "$method" ]
}

# each NAME DRIVER: check what kernel and speed-up write, and which of them wrote it.
each() {
	device=$(bound "$2" 2>/dev/null)
	again "$2" "$device"
	digest=$(image "$2" "$device")
	check "$1: digest" test -n "$digest" || return
	check "$1: base is the same twice" same "$2" "$device" "$digest" || return
	check "$1: load" patch_in zone_device || return
	for method in $METHODS; do
		choose "$method" || continue
		before=$(patched)
		check "$1: same memmap, $method" same "$2" "$device" "$digest"
		case $method in
		base)
			check "$1: left to the kernel, base" test "$(patched)" -eq "$before"
			check "$1: that was counted" counted_as left "method=base"
			;;
		*) check "$1: ours ran, $method" test "$(patched)" -eq $((before + 1)) ;;
		esac
	done
	case $1 in
	fsdax*)
		several "$1" "$2" "$device" "$digest"
		check "$1: rebind.sh" rebound "$2" "$device"
		;;
	devdax*) check "$1: rebind.sh" rebound device_dax "$(ls /sys/bus/dax/devices)" ;;
	esac
	check "$1: calls were counted" counted_as done "" "[1-9][0-9]*"
	check "$1: the proof passed" counted_as passed
	check "$1: unload" patch_out zone_device || return
	before=$(original)
	check "$1: same memmap after unload" same "$2" "$device" "$digest"
	check "$1: the kernel's own ran" test "$(original)" -eq $((before + 1))
}

for map in dev mem; do
	check "fsdax $map: namespace" namespace -m fsdax -M $map && each "fsdax $map" nd_pmem
	check "devdax $map: namespace" namespace -m devdax -a 2M -M $map &&
		each "devdax $map" dax_pmem
done
# Drivers of GPUs make memory like this.
if [ -e $PRIVATE ]; then
	each private private
	check "private: unbound" eval "echo 0 >$PRIVATE"
else
	skip "private: this kernel has no device-private memory"
fi
