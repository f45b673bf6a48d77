# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong while a livepatch is loaded: each time there must be one clear line,
# and the kernel must be as it was. Sourced after start.sh. Settings: TOOL_SPEEDUP;
# TOOL_SLOW: functions that TOOL_FUNCTION calls often. /modules/older.ko is a module for
# another kernel, and /modules/rebuilt.ko is another build of the speed-up's.

SLOW=/sys/module/slow/parameters
STARVE=/sys/module/starve/parameters

# unharmed: succeeds if the kernel is as it was.
unharmed() { unpatched && [ ! -e "/sys/module/$module" ]; }

# stays SPINS: a task calls the kernel's function and stays in it, running if Y.
stays() {
	echo "$1" >$SLOW/spins
	{ until [ "$(value_of $SLOW/task)" != 0 ]; do sleep 0.1; done && "${TOOL_SPEEDUP}_works"; } &
	echo $! >$SLOW/task
	until [ "$(value_of $SLOW/calls)" -gt "$calls" ]; do sleep 0.1; done
	calls=$((calls + 1))
}

# withdrawn NAME TASK: a load must name the task and be undone. The task stays until "task" is 0.
withdrawn() {
	check "faults: beside $1" denied "so the load was undone" \
		load "$TOOL_SPEEDUP" --module "$file" --limit 3
	check "faults: it names $1" grep -q "after 3 s .*$2.* still in the old function" /tmp/printed
	check "faults: nothing is left of it" test ! -e "/sys/module/$module" -a ! -e "$PATCHES/$module"
	value "undone, beside $1: s $(dmesg | grep "livepatch: '$module'" | awk -F '[][]' '
		/ patching transition/ { from = $2 } /unpatching complete/ { to = $2 }
		END { print to - from }')"
}

optional "${TOOL_SPEEDUP}_prepare" faults
calls=0
check "faults: slow" insmod /modules/slow.ko functions="$TOOL_SLOW"
stays N
mkdir -p /tmp/cold && mount -t cgroup2 none /tmp/cold && mkdir /tmp/cold/er
echo $! >/tmp/cold/er/cgroup.procs
kill -STOP $! && echo 1 >/tmp/cold/er/cgroup.freeze
withdrawn "a task that sleeps" "($!)"
echo 0 >$SLOW/task
until grep -q "frozen 1" /tmp/cold/er/cgroup.events; do sleep 0.1; done
check "faults: stopped and frozen elsewhere, it is in nobody's way" patch_in "$TOOL_SPEEDUP"
check "faults: unload" patch_out "$TOOL_SPEEDUP"
echo 0 >/tmp/cold/er/cgroup.freeze && kill -CONT $!
wait

stays Y
for other in $SPEEDUPS; do [ "$other" = "$TOOL_SPEEDUP" ] || break; done
stayer=$! # it ends when others do, since PREEMPT_LAZY undoes nothing while it runs
{
	until [ -e "$PATCHES/$module" ]; do sleep 0.1; done
	insmod "/modules/mmbatch_$other.ko" || fault "$other was not loaded after it"
} &
{ until [ -e "$PATCHES/$module" ]; do sleep 0.1; done && sleep 60 && echo 0 >$SLOW/task; } &
withdrawn "a task that runs" "($stayer)"
wait
check "faults: $other waited for it" patch_out "$other"
check "faults: the kernel is as it was" unharmed
check "faults: no fault in what ran beside ($(tail -n 1 /tmp/faults))" test ! -s /tmp/faults

rmmod slow
# shellcheck disable=SC2046
check "faults: thread" insmod /modules/slow.ko functions="$TOOL_SLOW" $("${TOOL_SPEEDUP}_thread")
for try in $(seq 300); do
	[ "$(value_of $SLOW/calls)" = 0 ] || break
	sleep 0.1
done
withdrawn "a kernel thread" "slow_thread ([0-9]*)"
echo 0 >$SLOW/task
sleep 2
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
