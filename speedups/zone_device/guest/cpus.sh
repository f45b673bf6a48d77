# SPDX-License-Identifier: GPL-2.0-only
# Let several CPUs write the memmap of an emulated NVDIMM, also while CPUs go offline
# and come back, and while tasks are frozen. Settings: REBINDS.

. /zone_device/lib.sh
CPUS=/sys/module/zone_device/parameters/cpus
ONLINE=/sys/devices/system/cpu/cpu%d/online

# Without compounds, all struct pages but those of the altmap are written by this method.
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control
echo 'p:mw zone_device_wide nr=%dx:u64' >>$TRACING/kprobe_events
initialised() { dmesg | grep -c "$INIT initialised"; }

# Print the number of pages that each thread wrote, as "PID PAGES" lines. The caller may
# move to another CPU meanwhile, so that CPUs can't be counted.
by_thread() {
	sed -n 's/^.*-\([0-9]*\) *\[[0-9]*\].* mw: .*nr=\([0-9]*\).*/\1 \2/p' $TRACING/trace |
		awk '{ nr[$1] += $2 } END { for (pid in nr) print pid, nr[pid] }'
}

# shared N: bind while at most N CPUs may write. Together they must write all pages.
shared() {
	echo "$1" >$CPUS
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	again nd_pmem "$device" || return 1
	echo 0 >$TRACING/events/kprobes/enable
	by_thread >/tmp/by_thread
	wrote=$(wc -l </tmp/by_thread)
	total=$(awk '{ n += $2 } END { print n + 0 }' /tmp/by_thread)
	most=$(awk '$2 > n { n = $2 } END { print n + 0 }' /tmp/by_thread)
	[ "$wrote" -le "$1" ] && [ "$total" -eq "$(pages)" ]
}

# report ROW: print what was found last.
report() {
	value "$1: threads that wrote $wrote"
	value "$1: pages $total"
	value "$1: pages of all but one thread $((total - most))"
}

# beside NAME FUNCTION: bind REBINDS times while a function runs again and again, which
# succeeds each time.
beside() {
	rm -f /tmp/bound /tmp/turns
	(
		turns=0
		while [ ! -e /tmp/bound ]; do
			"$2" || break
			turns=$((turns + 1))
		done
		echo $turns >/tmp/turns
	) &
	before=$(initialised)
	check "$1: $REBINDS rebinds" rebind nd_pmem "$device" "$REBINDS"
	touch /tmp/bound
	wait
	check "$1: initialised each time" test "$(initialised)" -eq $((before + REBINDS))
	check "$1: $(cat /tmp/turns) times meanwhile" test "$(cat /tmp/turns)" -gt 1
}

# Take the next of the CPUs offline, or all but the first one, and bring them back.
next=0
unplug() {
	next=$((next % 8 + 1))
	[ $next -lt 8 ] && away=$next || away="1 2 3 4 5 6 7"
	for cpu in $away; do
		echo 0 >"$(printf $ONLINE "$cpu")" || return 1
	done
	for cpu in $away; do
		echo 1 >"$(printf $ONLINE "$cpu")" || return 1
	done
}

# Freeze all tasks as for suspend to RAM, for a second, and let them go on.
freeze() { echo freezer >/sys/power/pm_test && echo freeze >/sys/power/state; }

check "fsdax: namespace" namespace -m fsdax -M dev || return
device=$(bound nd_pmem)
again nd_pmem "$device"
check "1 CPU: all pages" shared 1
report "1 CPU"
for n in 2 4 8; do
	check "$n CPUs: all pages" shared $n
	check "$n CPUs: more than one took part" test "$wrote" -gt 1
	report "$n CPUs"
done
beside unplugged unplug
beside frozen freeze
check "all CPUs are online" test "$(cat /sys/devices/system/cpu/online)" = 0-7
