# SPDX-License-Identifier: GPL-2.0-only
# Count the instructions that it takes to take free memory blocks offline, and the most that
# the isolation of a pageblock takes, nearly all of which has interrupts off. Under -icount,
# the TSC advances by one with each instruction.

MEMORY=/sys/devices/system/memory

# movable STATE: let all memory blocks of the movable zone be online or offline.
movable() {
	for block in $blocks; do
		echo "$1" >"$MEMORY/$block/state" || return 1
	done
}

# spent FUNCTION: take all blocks offline, and print what each call of a function takes.
spent() {
	movable online_movable || return 1
	echo >$TRACING/kprobe_events
	echo "p:first $1" >>$TRACING/kprobe_events
	echo "r:last $1" >>$TRACING/kprobe_events
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	movable offline || return 1
	echo 0 >$TRACING/events/kprobes/enable
	awk 'function clock(i) { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+:$/) return $i + 0 }
		/ first: / { from = clock() }
		/ last: / { print clock() - from }' $TRACING/trace | sort -n >/tmp/spent
	[ -s /tmp/spent ]
}

echo x86-tsc >$TRACING/trace_clock
# Take what goes. Then these blocks are free: who used them has other memory.
blocks=
for block in $(cd $MEMORY && grep -lx Movable memory*/valid_zones | sed 's:/.*::'); do
	# A block that is in use is refused.
	if echo offline 2>/dev/null >$MEMORY/$block/state; then
		blocks="$blocks $block"
	fi
done
check "offline: there is movable memory" test -n "$blocks"

# The fewest instructions are those of a block that was free as a whole.
check "offline: count them" spent memory_subsys_offline
fewest=$(head -n 1 /tmp/spent)
value "128 MiB of free memory offline: instructions $fewest"
# 2.4 million in the stock kernel.
check "offline: a tenth of the instructions" test "$fewest" -lt 237000
check "isolate: count the pageblocks" spent set_migratetype_isolate
value "one pageblock isolated, median: instructions $(sed -n "$(($(wc -l </tmp/spent) / 2 + 1))p" /tmp/spent)"
value "one pageblock isolated, most: instructions $(tail -n 1 /tmp/spent)"
