# SPDX-License-Identifier: GPL-2.0-only
# Functions for scripts that bind drivers to device memory. Sourced after
# /lib.sh.

DRIVERS=/sys/bus/nd/drivers
METHOD=/sys/module/zone_device/parameters/method
INIT=memmap_init_zone_device

# choose METHOD: choose a method. If the kernel refuses it, report that and fail.
choose() {
	echo "$1" >$METHOD 2>/dev/null && return 0
	fail "$1: refused as zone_device's method"
	return 1
}

# bound DRIVER: print the device that a driver of the nd bus is bound to.
bound() { ls "$DRIVERS/$1" | grep -E '^(pfn|dax|namespace)[0-9]' | head -n 1; }

bind() { echo "$2" >"$DRIVERS/$1/bind"; }
unbind() { echo "$2" >"$DRIVERS/$1/unbind"; }

# rebind DRIVER DEVICE N: bind a device N times; it must be bound at the end.
rebind() {
	i=0
	while [ "$i" -lt "$3" ]; do
		unbind "$1" "$2" || return 1
		bind "$1" "$2" || return 1
		i=$((i + 1))
	done
	[ -e "$DRIVERS/$1/$2" ]
}

# namespace MODE...: recreate the first namespace.
namespace() { ndctl create-namespace -f -e namespace0.0 "$@" >/tmp/ndctl.out; }

again() { unbind "$1" "$2" && bind "$1" "$2"; }

# Print how many pages the last call initialised, according to its debug line.
pages() { dmesg | sed -n "s/.*$INIT initialised \([0-9]*\) pages.*/\1/p" | tail -n 1; }

# watch_writers [MODULE:]: record with kprobes who writes struct pages, and for whom work is
# queued. Without compounds, all but the struct pages of the altmap are written by this
# method, if there are enough.
watch_writers() {
	echo "p:mw ${1:-}zone_device_wide nr=%dx:u64" >>$TRACING/kprobe_events
	echo 'p:mq queue_work_on cpu=%di:u32 func=+24(%dx):symbol' >>$TRACING/kprobe_events
}

# traced COMMAND...: run a command, and record who writes struct pages meanwhile.
traced() {
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	"$@"
	ended=$?
	echo 0 >$TRACING/events/kprobes/enable
	return $ended
}

# writes: print a line for each piece that was written: NAME-PID, CPU and pages.
writes() {
	sed -n 's/^ *\(.*-[0-9]*\) *\[\([0-9]*\)\].* mw: .*nr=\([0-9]*\).*/\1 \2 \3/p' \
		$TRACING/trace
}

# Print the number of pages that each thread wrote, as "THREAD PAGES" lines. The caller
# may move to another CPU meanwhile, so that CPUs can't be counted.
by_thread() { writes | awk '{ nr[$1] += $NF } END { for (thread in nr) print thread, nr[thread] }'; }

# Print the CPUs on which workers wrote, and those for which work was queued.
worked() { writes | awk '/^kworker/ { print $(NF - 1) + 0 }' | sort -nu | tr '\n' ' '; }
asked() {
	sed -n 's/.* mq: .*cpu=\([0-9]*\) func=zone_device_help+.*/\1/p' $TRACING/trace |
		sort -nu | tr '\n' ' '
}

# shared N: bind while at most N CPUs may write. Together they must write all pages.
shared() {
	echo "$1" >$CPUS
	traced again nd_pmem "$device" || return 1
	by_thread >/tmp/by_thread
	wrote=$(wc -l </tmp/by_thread)
	total=$(awk '{ n += $2 } END { print n + 0 }' /tmp/by_thread)
	most=$(awk '$2 > n { n = $2 } END { print n + 0 }' /tmp/by_thread)
	[ "$wrote" -le "$1" ] && [ "$total" -eq "$(pages)" ]
}

# cpu_online CPU 0|1: take a CPU offline, or bring it back.
cpu_online() { echo "$2" >"/sys/devices/system/cpu/cpu$1/online"; }

# away_and_back CPU...: take CPUs offline, and bring them back.
away_and_back() {
	for cpu in "$@"; do
		cpu_online "$cpu" 0 || return 1
	done
	for cpu in "$@"; do
		cpu_online "$cpu" 1 || return 1
	done
}

# Freeze all tasks as for suspend to RAM, for a second, and let them go on. The delay is
# suspend.pm_test_delay of the command line.
freeze() { echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; }

# initialised: print how often a memmap was initialised. A livepatch lets the kernel make its
# template, of one page.
initialised() { dmesg | grep -c "$INIT initialised [0-9][0-9]"; }

# beside NAME FUNCTION N BIND: bind N times with the function BIND, while FUNCTION runs again
# and again, which succeeds each time. More than one CPU must have written.
beside() {
	rm -f /tmp/bound /tmp/turns
	(
		turns=0
		while [ ! -e /tmp/bound ]; do
			"$2" || { turns=0; break; }
			turns=$((turns + 1))
		done
		echo $turns >/tmp/turns
	) &
	before=$(initialised)
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/mw/enable
	check "$1: $3 rebinds" "$4" "$3"
	echo 0 >$TRACING/events/kprobes/mw/enable
	touch /tmp/bound
	wait
	check "$1: initialised each time" test "$(initialised)" -eq $((before + $3))
	check "$1: workers took part on CPUs '$(worked)'" test -n "$(worked)"
	check "$1: $(cat /tmp/turns) times meanwhile" test "$(cat /tmp/turns)" -gt 1
}

# report ROW: print what was found last.
report() {
	value "$1: threads that wrote $wrote"
	value "$1: pages $total"
	value "$1: pages of all but one thread $((total - most))"
}
