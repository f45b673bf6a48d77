# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong while a livepatch is loaded: each time there must be one clear line,
# and the kernel must be as it was. Sourced after tool.sh. Settings: TOOL_SPEEDUP;
# TOOL_SLOW: functions that TOOL_FUNCTION calls often. /modules/older.ko is a module for
# another kernel, and /modules/rebuilt.ko is another build of the speed-up's.

SLOW=/sys/module/slow/parameters
STARVE=/sys/module/starve/parameters

# unharmed: succeeds if the kernel is as it was.
unharmed() { unpatched && [ ! -e "/sys/module/$module" ]; }

# A task stays in the kernel's function while it is replaced.
optional "${TOOL_SPEEDUP}_prepare" faults
check "faults: slow" insmod /modules/slow.ko functions="$TOOL_SLOW" delay_ms=100
rm -f /tmp/stop
"${TOOL_SPEEDUP}_load" &
until [ "$(value_of $SLOW/calls)" -gt 0 ]; do sleep 0.1; done
for other in $SPEEDUPS; do [ "$other" = "$TOOL_SPEEDUP" ] || break; done
{
	until [ -e "$PATCHES/$module" ]; do sleep 0.1; done
	insmod "/modules/mmbatch_$other.ko" || fault "$other was not loaded after it"
} &
# A kernel with PREEMPT_LAZY takes a livepatch back only when no task runs in the kernel
# without sleeping, as the slow one does. So let that end.
{
	until [ -e "$PATCHES/$module" ]; do sleep 0.1; done
	sleep 30
	echo 0 >$SLOW/delay_ms
} &
check "faults: a transition that does not end" denied "so the load was undone" \
	load "$TOOL_SPEEDUP" --module "$file" --limit 3
check "faults: it names the task" \
	grep -q "after 3 s .* ([0-9]*) .*still in the old function" /tmp/printed
check "faults: its module is gone" test ! -e "/sys/module/$module"
touch /tmp/stop
wait
check "faults: $other waited for it" patch_out "$other"
check "faults: the kernel is as it was" unharmed
check "faults: no fault in what ran beside ($(tail -n 1 /tmp/faults))" test ! -s /tmp/faults
check "faults: nothing is slow" rmmod slow
optional "${TOOL_SPEEDUP}_finish" faults

# The module is that of the kernel before an update.
check "faults: a module of another kernel" denied "and Linux $(uname -r) is running" \
	load "$TOOL_SPEEDUP" --module /modules/older.ko
check "faults: the kernel is as it was" unharmed

# Two versions at once.
check "faults: load" says "in use everywhere" load "$TOOL_SPEEDUP" --module "$file"
check "faults: a second build" denied "another build of it is loaded" \
	load "$TOOL_SPEEDUP" --module /modules/rebuilt.ko
check "faults: the first stays" says "in use everywhere" status "$TOOL_SPEEDUP"
check "faults: unload" says "the kernel's own" unload "$TOOL_SPEEDUP"
check "faults: the kernel is as it was" unharmed

# starve NAME ARGUMENTS...: load the module again and again. Each time memory runs out one
# allocation later, until there is enough.
starve() {
	starve_name=$1
	shift
	check "faults: starve $starve_name" insmod /modules/starve.ko "$@" || return
	starve_number=0 starve_refused=0
	while :; do
		starve_number=$((starve_number + 1))
		echo 0 >$STARVE/seen
		echo $starve_number >$STARVE/which
		if insmod "$file" >/tmp/insmod.out 2>&1; then
			echo 0 >$STARVE/which
			patch_out "$TOOL_SPEEDUP" || break
			[ "$starve_number" -le "$(value_of $STARVE/seen)" ] || break
		else
			grep -q "Cannot allocate memory" /tmp/insmod.out || break
			unharmed || break
			starve_refused=$((starve_refused + 1))
		fi
	done
	starve_number=$((starve_number - 1))
	check "faults: no memory $starve_number times, refused $starve_refused times" \
		eval "unharmed && [ $starve_refused -gt 1 ]"
	check "faults: with enough memory it loads" \
		test "$(value_of $STARVE/seen)" -eq $starve_number
}

ALLOCATORS=execmem_alloc,execmem_alloc_rw
starve "loading" functions=$ALLOCATORS
echo 0 >$STARVE/seen
echo 1 >$STARVE/which
check "faults: the tool says so" denied "Cannot allocate memory" \
	load "$TOOL_SPEEDUP" --module "$file"
check "faults: the kernel is as it was" unharmed
rmmod starve
# What the kernel allocates itself when a module goes is not starved: 7.3 warns of that.
starve "patching" functions=__kmalloc_cache_noprof,__kmalloc_noprof,$ALLOCATORS \
	during=klp_enable_patch
rmmod starve
