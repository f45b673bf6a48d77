# SPDX-License-Identifier: GPL-2.0-only
# Which of four CPUs write the memmap of an emulated NVDIMM, where the kernel or a user
# keeps work from some of them. The command line isolates CPU 2 (isolcpus) and CPU 3
# (nohz_full). Sourced after live/guest/start.sh.

CPUS=/sys/module/mmbatch_zone_device/parameters/zone_device.cpus
GROUPS_AT=/tmp/groups

# within "CPU...": succeeds if work was queued for these CPUs only, and workers wrote on
# these only.
within() {
	for cpu in $(asked) $(worked); do
		case " $1 " in
		*" $cpu "*) ;;
		*) return 1 ;;
		esac
	done
}

# expect NAME "CPU..." LEAST MOST: bind in the group of NAME until so many threads have
# written, since a worker may come too late. Each time, workers may write on these CPUs only.
expect() {
	group=$GROUPS_AT/$1
	for i in $(seq 40); do
		(echo 0 >"$group/cgroup.procs" && shared 8 && echo "$wrote" >/tmp/wrote) ||
			{ fail "$1: not all pages"; return; }
		within "$2" || break
		[ "$(cat /tmp/wrote)" -lt "$3" ] || break
	done
	pass "$1: all pages"
	check "$1: between $3 and $4 threads" \
		test "$(cat /tmp/wrote)" -ge "$3" -a "$(cat /tmp/wrote)" -le "$4"
	check "$1: for CPUs '$(asked)', by workers on '$(worked)'" within "$2"
}

# limit NAME FILE VALUE: make a group with a limit.
limit() {
	mkdir -p "$GROUPS_AT/$1" && echo "$3" >"$GROUPS_AT/$1/$2"
}

check "limits: namespace" namespace -m fsdax -M dev || return
device=$(bound nd_pmem)
check "limits: load" patch_in zone_device || return
watch_writers mmbatch_zone_device:

mkdir $GROUPS_AT
mount -t cgroup2 none $GROUPS_AT
echo "+cpuset +cpu" >$GROUPS_AT/cgroup.subtree_control

# The shell may use all CPUs, so that nothing but isolation keeps work from two of them.
limit free cpuset.cpus 0-3
expect free "0 1" 2 3

limit alone cpuset.cpus 0
expect alone "" 1 1
limit pair cpuset.cpus 0-1
expect pair "0 1" 2 2

# The time of workers is not that of the group.
limit slow cpu.max "20000 100000"
expect slow "0 1" 2 3

# 6.12 isolates no CPU that a group beside this one may use.
rmdir $GROUPS_AT/free $GROUPS_AT/alone $GROUPS_AT/pair $GROUPS_AT/slow
limit apart cpuset.cpus 1
echo 1 >$GROUPS_AT/apart/cpuset.cpus.exclusive 2>/dev/null
echo isolated >$GROUPS_AT/apart/cpuset.cpus.partition
check "apart: CPU 1 is isolated" \
	test "$(cat $GROUPS_AT/apart/cpuset.cpus.partition)" = isolated
mkdir $GROUPS_AT/rest
expect rest "0" 1 2

# What is written is what the kernel writes, also while CPUs 1 to 3 go offline and come back,
# and while tasks are frozen.
rmdir $GROUPS_AT/rest $GROUPS_AT/apart
digest=$(image nd_pmem "$device")
check "limits: digest" test -n "$digest"
cpus_leave() { away_and_back 1 2 3; }
bind_same() {
	for i in $(seq "$1"); do
		again nd_pmem "$device" && [ "$(image nd_pmem "$device")" = "$digest" ] || return 1
	done
}
beside "same memmap, unplugged" cpus_leave 30 bind_same
if [ -e /sys/power/pm_test ]; then
	beside "same memmap, frozen" freeze 10 bind_same
else
	skip "same memmap, frozen: this kernel has no pm_test"
fi

echo '-:mw' >>$TRACING/kprobe_events
check "limits: unload" patch_out zone_device || return
check "limits: same memmap after unload" bind_same 1
