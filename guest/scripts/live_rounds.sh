# SPDX-License-Identifier: GPL-2.0-only
# In and out, again and again, while drivers bind and pages move.
# Sourced after live_start.sh. Settings: ROUNDS, SPARE_MODULE.

# Free memory once all that is being freed has been.
settled() {
	echo 3 >/proc/sys/vm/drop_caches
	sleep 5
	awk '/^MemAvailable:/ { print $2 }' /proc/meminfo
}

bind_forever() {
	while [ ! -e /tmp/stop ]; do
		again nd_pmem "$1" || echo "rebind of $1" >>/tmp/faults
		sleep 0.1
	done
}

move_forever() {
	while [ ! -e /tmp/stop ]; do
		echo 1 >/proc/sys/vm/compact_memory
		sleep 1
	done
}

# The memory of a module is mapped like that of vmap().
map_forever() {
	while [ ! -e /tmp/stop ]; do
		insmod /modules/$SPARE_MODULE.ko && rmmod $SPARE_MODULE || echo "$SPARE_MODULE" >>/tmp/faults
		sleep 0.2
	done
}

rounds() {
	i=0
	while [ "$i" -lt "$1" ]; do
		patch_in || return 1
		patch_out || return 1
		i=$((i + 1))
		[ $((i % 10)) -ne 0 ] || echo "round $i at $(uptime) s" >/dev/console
	done
}

start_load() {
	rm -f /tmp/stop
	bind_forever "$1" &
	move_forever &
	map_forever &
	move_pages 2>>/tmp/faults &
	mover=$!
}

stop_load() {
	touch /tmp/stop
	kill $mover
	wait
}

namespace -m fsdax -M mem
device=$(bound nd_pmem)
again nd_pmem "$device"
digest=$(image nd_pmem "$device")

# The same with few rounds, so that all that is allocated once has been.
start_load "$device"
rounds 3
stop_load
before=$(settled)
start_load "$device"
check "rounds: $ROUNDS times in and out under load" rounds "$ROUNDS"
stop_load
check "rounds: no fault in what ran beside" test ! -s /tmp/faults
check "rounds: bound in the end" test -e "$DRIVERS/nd_pmem/$device"
check "rounds: the original is back" test ! -e $PATCH
check "rounds: same memmap" test "$(image nd_pmem "$device")" = "$digest"
after=$(settled)
value "rounds kib-lost" $((before - after))
check "rounds: memory is accounted for ($before kB, then $after kB)" \
	test $((before - after)) -lt 24576
