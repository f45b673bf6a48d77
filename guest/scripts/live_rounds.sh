# SPDX-License-Identifier: GPL-2.0-only
# In and out, again and again, while drivers bind and pages move.
# Sourced after live_start.sh. Settings: ROUNDS, SPARE_MODULE, SPEEDUPS.

# Free memory once it grows no more: lists of each CPU give back slowly.
settled() {
	settled_now=0
	for try in 1 2 3 4 5 6 7 8; do
		settled_last=$settled_now
		echo 3 >/proc/sys/vm/drop_caches
		sleep 5
		settled_now=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
		[ $((settled_now - settled_last)) -ge 512 ] || break
	done
	echo "$settled_now"
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

# Arrays of pages and large vmalloc()s, each looked at; and modules, whose memory
# is mapped likewise.
map_forever() {
	while [ ! -e /tmp/stop ]; do
		for order in 0 4 9; do
			echo "$order 1024" >$MAP || echo "vmap of order $order" >>/tmp/faults
			sleep 0.1
		done
		echo 2048 >$HUGE || echo "vmalloc" >>/tmp/faults
		insmod /modules/$SPARE_MODULE.ko && rmmod $SPARE_MODULE || echo "$SPARE_MODULE" >>/tmp/faults
	done
	echo 0 0 >$MAP || echo "unmapping" >>/tmp/faults
	echo 0 >$HUGE || echo "vfree" >>/tmp/faults
}

copy_forever() {
	while [ ! -e /tmp/stop ]; do
		echo 9 >$COPY || echo "folio_copy" >>/tmp/faults
		sleep 1
	done
}

# rounds N: each takes in the next speed-up, and takes out the one before.
rounds() {
	i=0
	last=
	set -- "$1" $SPEEDUPS
	while [ "$i" -lt "$1" ]; do
		next=$2
		patch_in "$next" || return 1
		[ -z "$last" ] || patch_out "$last" || return 1
		last=$next
		count=$1
		shift 2
		set -- "$count" "$@" "$next"
		i=$((i + 1))
		[ $((i % 10)) -ne 1 ] || echo "round $i at $(uptime) s" >/dev/console
	done
	patch_out "$last"
}

start_load() {
	rm -f /tmp/stop
	bind_forever "$1" &
	move_forever &
	map_forever &
	copy_forever &
	move_pages 2>>/tmp/faults &
	movers=$!
	move_huge 2>>/tmp/faults >/tmp/moved &
	movers="$movers $!"
}

stop_load() {
	touch /tmp/stop
	kill $movers || echo "a mover ended early" >>/tmp/faults
	wait
}

namespace -m fsdax -M mem
device=$(bound nd_pmem)
again nd_pmem "$device"
digest=$(image nd_pmem "$device")
check "rounds: descriptors" test -n "$digest"

# The same with few rounds, so that all that is allocated once has been.
start_load "$device"
rounds 3
stop_load
before=$(settled)
start_load "$device"
check "rounds: $ROUNDS times in and out under load" rounds "$ROUNDS"
stop_load
check "rounds: no fault in what ran beside ($(tail -n 1 /tmp/faults))" test ! -s /tmp/faults
# Now and then one can't be, such as for want of a huge page over there.
check "rounds: huge pages moved as a whole ($(cat /tmp/moved))" \
	awk '{ good = $1 > 0 && $1 >= $3 / 2 } END { exit !good }' /tmp/moved
check "rounds: bound in the end" test -e "$DRIVERS/nd_pmem/$device"
check "rounds: the original is back" unpatched
check "rounds: same memmap" test "$(image nd_pmem "$device")" = "$digest"
after=$(settled)
# What is free goes up and down by some MB; each round may take no more than a
# small part of a module.
value "rounds kib-lost" $((before - after))
check "rounds: memory is accounted for ($before kB, then $after kB)" \
	test $((before - after)) -lt $((16384 + 16 * ROUNDS))
