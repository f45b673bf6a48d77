# SPDX-License-Identifier: GPL-2.0-only
# Functions for guests with a stock kernel: memory blocks that come and go, and the
# flag of their zone. Sourced by live/guest/live.sh.

. /memory_hotplug/lib.sh
BLOCK_PAGES=32768

# cycle: online four memory blocks of the NVDIMM, and take the last one away first.
cycle() {
	set -- $(blocks offline | head -n 4)
	for number in "$1" "$2" "$3" "$4"; do online "$number" || return 1; done
	for number in "$4" "$3" "$2" "$1"; do offline "$number" || return 1; done
}

# find_first: wait for the first memory block that is offline.
find_first() {
	tries=0
	first_block=
	while [ -z "$first_block" ] && [ "$tries" -lt 30 ]; do
		sleep 0.1
		tries=$((tries + 1))
		first_block=$(blocks offline | head -n 1)
	done
	[ -n "$first_block" ]
}

# appears NUMBER: wait for a memory block. virtio-mem adds some more when some were onlined.
appears() {
	tries=0
	until [ -e "$MEMORY/memory$1" ]; do
		tries=$((tries + 1))
		[ "$PLUG" = virtio-mem ] && [ "$tries" -lt 30 ] || return 1
		sleep 0.1
	done
}

# online_all and offline_all: let all memory blocks from $first_block on come, and go again.
online_all() {
	number=$first_block
	while appears "$number"; do
		online "$number" || return 1
		number=$((number + 1))
	done
	nr_blocks=$((number - first_block))
}

offline_all() {
	while [ "$number" -gt "$first_block" ]; do
		number=$((number - 1))
		offline "$number" || return 1
	done
}

# phases: let all memory blocks come and go, and count the instructions of the functions
# that do it, with those of all that they call.
phases() {
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	online_all && offline_all || return 1
	echo 0 >$TRACING/events/kprobes/enable
	awk '
		{ for (i = 1; i < NF; i++) if ($i ~ /^[0-9]+:$/) { clock = $i + 0; name = $(i + 1) } }
		sub(/_in:$/, "", name) { from[name] = clock; next }
		sub(/_out:$/, "", name) { sum[name] += clock - from[name] }
		END { for (name in sum) printf "%s %.0f\n", name, sum[name] }' $TRACING/trace |
		sort >"/tmp/phases.$1"
}

# tell_phases VARIANT: print what phases() counted. check() prints nothing of a command.
tell_phases() {
	while read -r name instructions; do
		value "phases-$1 $name $instructions"
	done <"/tmp/phases.$1"
}

# both_phases: count the phases with the kernel's own functions, and with ours.
both_phases() {
	echo 16384 >$TRACING/buffer_size_kb
	for name in online_pages move_pfn_range_to_zone memmap_init_range \
		__free_pages_core offline_pages start_isolate_page_range test_pages_isolated \
		__offline_isolated_pages remove_pfn_range_from_zone; do
		probe_pair "$name" "$name"
	done
	# scan_movable_pages() is inlined: what lies between its neighbours.
	echo 'r:scan_in memory_notify' >>$TRACING/kprobe_events
	echo 'p:scan_out dissolve_free_hugetlb_folios' >>$TRACING/kprobe_events
	check "count: phases" phases base && tell_phases base || return
	value "phases-blocks all $nr_blocks"
	check "count: load for phases" patch_in memory_hotplug || return
	check "count: phases, patched" phases patched && tell_phases patched
	check "count: unload after phases" patch_out memory_hotplug
}

# of VARIANT NAME: print what phases() counted for a function.
of() { awk -v name="$2" '$1 == name { print int($2 / 1000) }' "/tmp/phases.$1"; }

# fewer NAME TENTHS: succeeds if a function takes fewer instructions with ours, by that factor.
fewer() { [ "$((10 * $(of base "$1")))" -ge "$(($2 * $(of patched "$1")))" ]; }

memory_hotplug_count() {
	probe_pair contiguous set_zone_contiguous
	check "count: plug" plug || return
	first_block=$(blocks offline | head -n 1)
	value "plug items" $BLOCK_PAGES
	in_turn memory_hotplug plug contiguous cycle

	both_phases
	check "count: memmap in batches" fewer memmap_init_range 15
	check "count: unplug" unplug
}

# Blocks from which on the scans are most of what a user waits for.
MANY_BLOCKS=2000

# memory_hotplug_plug_count: count the phases for memory that came as PLUG says.
memory_hotplug_plug_count() {
	if [ "$PLUG" = dax ]; then
		check "plug: a devdax" make_dax || return
		check "plug: daxctl" daxctl reconfigure-device --mode=system-ram --no-online "$dax" || return
	fi
	check "plug: memory blocks are offline" find_first || return
	both_phases
	check "plug: memmap in batches" fewer memmap_init_range 15
	[ "$nr_blocks" -lt $MANY_BLOCKS ] || check "plug: three times fewer for onlining" fewer online_pages 30
	check "plug: no zone has a wrong flag" same_as_scan
}

# same_as_scan: succeeds if no scan of a zone finds another flag. A zone that got memory has
# had its flag cleared, and may say that it has a hole where it has none.
same_as_scan() { awk '$3 != $4 && $3 { wrong = 1 } END { exit wrong || !NR }' $ZONES; }

# memory_hotplug_prepare STAGE: find a memory block of the machine that can go.
memory_hotplug_prepare() {
	spare=
	for number in $(blocks online | sort -rn); do
		timeout 20 sh -c "echo offline >$MEMORY/memory$number/state" 2>/dev/null || continue
		spare=$number
		break
	done
	check "$1: a memory block can go" test -n "$spare" && online "$spare"
}

memory_hotplug_works() { offline "$spare" && same_as_scan && online "$spare" && same_as_scan; }

# No memory block comes or goes while the others use the memory: their pages would move
# all the time.
memory_hotplug_load() {
	while [ ! -e /tmp/stop ]; do
		same_as_scan || fault "another flag than that of a scan: $(cat $ZONES)"
		sleep 1
	done
}

memory_hotplug_finish() {
	check "$1: the memory block comes and goes" memory_hotplug_works
}
