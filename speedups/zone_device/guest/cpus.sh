# SPDX-License-Identifier: GPL-2.0-only
# Let several CPUs write the memmap of an emulated NVDIMM, also while CPUs go offline
# and come back, and while tasks are frozen. Settings: REBINDS and FREEZES, how often the
# device is bound while CPUs come and go, and while tasks are frozen. Each freeze takes a
# second.

. /zone_device/lib.sh
CPUS=/sys/module/zone_device/parameters/cpus
ONLINE=/sys/devices/system/cpu/cpu%d/online
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control
watch_writers
initialised() { dmesg | grep -c "$INIT initialised"; }

# beside NAME FUNCTION TIMES: bind that often while a function runs again and again, which
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
	check "$1: $3 rebinds" rebind nd_pmem "$device" "$3"
	touch /tmp/bound
	wait
	check "$1: initialised each time" test "$(initialised)" -eq $((before + $3))
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

# The same in a machine with fewer CPUs, as far as the kernel can tell.
echo 8 >$CPUS
for n in 4 2; do
	for cpu in 4 5 6 7 2 3; do
		[ $cpu -lt $n ] || echo 0 >"$(printf $ONLINE $cpu)"
	done
	check "$n online: CPUs" test "$(cat /sys/devices/system/cpu/online)" = 0-$((n - 1))
	check "$n online: all pages" shared 8
	check "$n online: between 2 and $n threads" test "$wrote" -gt 1 -a "$wrote" -le $n
done
for cpu in 2 3 4 5 6 7; do
	echo 1 >"$(printf $ONLINE $cpu)"
done
beside unplugged unplug "$REBINDS"
beside frozen freeze "$FREEZES"
check "all CPUs are online" test "$(cat /sys/devices/system/cpu/online)" = 0-7
no_race
