# SPDX-License-Identifier: GPL-2.0-only
# Let several CPUs write the memmap of an emulated NVDIMM, also while CPUs go offline
# and come back, and while tasks are frozen. Settings: BINDS, how often the device is bound by
# each number of CPUs, and REBINDS and FREEZES, how often while CPUs come and go, and while
# tasks are frozen. Each freeze takes a second. With REBINDS=0 no CPU goes offline.

. /zone_device/lib.sh
CPUS=/sys/module/zone_device/parameters/cpus
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control
watch_writers

# Take the next of the CPUs offline, or all but the first one, and bring them back.
next=0
cpus_leave() {
	next=$((next % 8 + 1))
	[ $next -lt 8 ] && away=$next || away="1 2 3 4 5 6 7"
	away_and_back $away
}

# shared_each N: let at most N CPUs write, BINDS times. Only the last one is traced, because
# the kernel patches its code for that.
shared_each() {
	echo "$1" >$CPUS
	bind=1
	while [ $bind -lt "$BINDS" ]; do
		again nd_pmem "$device" || return 1
		bind=$((bind + 1))
	done
	shared "$1"
}

bind_again() { rebind nd_pmem "$device" "$1"; }

check "fsdax: namespace" namespace -m fsdax -M dev || return
device=$(bound nd_pmem)
again nd_pmem "$device"
check "1 CPU: all pages" shared 1
report "1 CPU"

for n in 2 4 8; do
	check "$n CPUs: all pages" shared_each $n
	check "$n CPUs: more than one took part" test "$wrote" -gt 1
	report "$n CPUs"
done

no_race "zone_device_\|$INIT"
[ "$REBINDS" -gt 0 ] || return

# The same in a machine with fewer CPUs, as far as the kernel can tell.
echo 8 >$CPUS
for n in 4 2; do
	for cpu in 4 5 6 7 2 3; do
		[ $cpu -lt $n ] || cpu_online $cpu 0
	done
	check "$n online: CPUs" test "$(cat /sys/devices/system/cpu/online)" = 0-$((n - 1))
	check "$n online: all pages" shared 8
	check "$n online: between 2 and $n threads" test "$wrote" -gt 1 -a "$wrote" -le $n
done
for cpu in 2 3 4 5 6 7; do
	cpu_online $cpu 1
done
beside unplugged cpus_leave "$REBINDS" bind_again
beside frozen freeze "$FREEZES" bind_again
check "all CPUs are online" test "$(cat /sys/devices/system/cpu/online)" = 0-7
