# SPDX-License-Identifier: GPL-2.0-only
# Load and unload the speed-ups again and again while the memory is in use.
# Sourced after start.sh. Settings: ROUNDS, SPEEDUPS.
#
# Meanwhile memory is compacted. With 6 rounds or more, two programs also call mm at
# random (random_calls.c), with which a round takes 10 s or more on emulated CPUs.
# NAME_load() of each speed-up's live/guest.sh runs in the background until
# /tmp/stop exists, and calls fault() where something fails.

# settled: wait until free memory grows no more, and print it. The kernel returns the
# free lists of each CPU slowly.
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

compact_forever() {
	while [ ! -e /tmp/stop ]; do
		echo 1 >/proc/sys/vm/compact_memory
		sleep 1
	done
}

# rounds N: run N rounds. Each loads the next speed-up, and unloads the one before.
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

# call_forever SEED: call mm at random until /tmp/stop exists.
call_forever() {
	random_calls "$1" >"/tmp/calls.$1" 2>>/tmp/faults &
	caller=$!
	while [ ! -e /tmp/stop ]; do
		sleep 1
	done
	kill "$caller" || fault "random_calls $1 ended early"
	wait "$caller" || fault "random_calls $1 failed"
}

start_load() {
	rm -f /tmp/stop
	compact_forever &
	for seed in $CALLERS; do
		call_forever "$seed" &
	done
	for name in $SPEEDUPS; do
		{ "${name}_load" || fault "${name}_load ended early"; } &
	done
}

stop_load() {
	touch /tmp/stop
	wait
}

for name in $SPEEDUPS; do
	optional "${name}_prepare" rounds
done
[ "$ROUNDS" -lt 6 ] && CALLERS="" || CALLERS="1 2"
echo 16 >/proc/sys/vm/nr_hugepages

# Run a few rounds first, to allocate what is allocated only once.
start_load
rounds 3
stop_load
before=$(settled)
start_load
check "rounds: $ROUNDS times in and out under load" rounds "$ROUNDS"
stop_load
check "rounds: no fault in what ran beside ($(tail -n 1 /tmp/faults))" test ! -s /tmp/faults
if [ -n "$CALLERS" ]; then
	check "rounds: random calls of mm ($(cat /tmp/calls.1))" \
		awk '{ good += $1 > 100 } END { exit good != 2 }' /tmp/calls.1 /tmp/calls.2
fi
check "rounds: the original is back" unpatched
echo 0 >/proc/sys/vm/nr_hugepages
for name in $SPEEDUPS; do
	optional "${name}_finish" rounds
done
after=$(settled)
# Free memory varies by some MB. Each round may lose no more than a small part of a
# module.
value "rounds kib-lost" $((before - after))
check "rounds: memory is accounted for ($before kB, then $after kB)" \
	test $((before - after)) -lt $((16384 + 16 * ROUNDS))
