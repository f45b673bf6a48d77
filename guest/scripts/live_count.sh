# SPDX-License-Identifier: GPL-2.0-only
# Instructions of memmap_init_zone_device() and of vmap(), the kernel's own
# against ours, in one boot: base, patched, base again. What folio_copy() does is
# done by instructions that count once for each word, so it isn't here. Sourced
# after live_start.sh. Settings: ROUNDS.

PAGES=25600 # 100 MB

echo x86-tsc >$TRACING/trace_clock
for event in "p:mi $INIT" "r:mo $INIT" "p:vi vmap" "r:vo vmap"; do
	echo "$event" >>$TRACING/kprobe_events
done

# counts CASE VARIANT EVENT RETURN COMMAND...
counts() {
	counts_case="$1 $2"
	shift 2
	round=0
	while [ "$round" -lt "$ROUNDS" ]; do
		value "$counts_case" "$(counted "$@")"
		round=$((round + 1))
	done
}

# in_turn SPEEDUP CASE EVENT RETURN COMMAND...
in_turn() {
	speedup=$1 name=$2
	shift 2
	counts "$name" base "$@"
	check "count: load" patch_in "$speedup" || return
	counts "$name" patched "$@"
	check "count: unload" patch_out "$speedup" || return
	counts "$name" control "$@"
}

measure() {
	device=$(bound "$2")
	again "$2" "$device"
	value "$1 items" "$(pages)"
	in_turn zone_device "$1" mi mo again "$2" "$device"
}

map_once() { echo "$1 $PAGES" >$MAP && echo 0 0 >$MAP; }

check "count: fsdax namespace" namespace -m fsdax -M dev && measure fsdax nd_pmem
check "count: devdax namespace" namespace -m devdax -a 2M -M dev && measure devdax-2m dax_pmem
for order in -1 4 8 9; do
	value "vmap-order$order items" $PAGES
	map_once $order
	in_turn vmap "vmap-order$order" vi vo map_once $order
done
