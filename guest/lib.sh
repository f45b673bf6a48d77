# SPDX-License-Identifier: GPL-2.0-only
# What the guest's scripts share. Sourced.

DRIVERS=/sys/bus/nd/drivers
METHOD=/sys/module/zone_device/parameters/method
INIT=memmap_init_zone_device
TRACING=/sys/kernel/tracing

uptime() { cut -d' ' -f1 /proc/uptime; }
start() { echo "@@ start $(uptime)"; }
begin() { echo "@@ begin $1 $(uptime)"; }

# The kernel prints on the same console: what it tears apart is missed at the
# end, which says how many of these there were.
told=0
tell() {
	told=$((told + 1))
	echo "@@ $*"
}
pass() { tell pass "$*"; }
fail() { tell fail "$*"; }
skip() { tell skip "$*"; }
value() { tell value "$*"; }
end() { echo "@@ end $(uptime) $told"; }

# choose METHOD: false where it can't be had, which is said; only some CPUs
# have movdir64b.
lacking=
choose() {
	if echo "$1" >$METHOD 2>/dev/null; then
		return 0
	elif [ "$1" = movdir64b ]; then
		[ "$lacking" = "$1" ] || skip "$1: not on this CPU"
		lacking=$1
	else
		fail "$1: refused as zone_device's method"
	fi
	return 1
}

# check NAME COMMAND...: passes when the command does.
check() {
	check_name=$1
	shift
	if "$@" >/tmp/check.out 2>&1; then
		pass "$check_name"
	else
		fail "$check_name: $* ($(tail -n 1 /tmp/check.out))"
		return 1
	fi
}

# The device that a driver of the nd bus is bound to.
bound() { ls "$DRIVERS/$1" | grep -E '^(pfn|dax|namespace)[0-9]' | head -n 1; }

bind() { echo "$2" >"$DRIVERS/$1/bind"; }
unbind() { echo "$2" >"$DRIVERS/$1/unbind"; }

# rebind DRIVER DEVICE N: without one error, and bound at the end.
rebind() {
	i=0
	while [ "$i" -lt "$3" ]; do
		unbind "$1" "$2" || return 1
		bind "$1" "$2" || return 1
		i=$((i + 1))
	done
	[ -e "$DRIVERS/$1/$2" ]
}

# namespace MODE...: make the first namespace anew.
namespace() { ndctl create-namespace -f -e namespace0.0 "$@" >/tmp/ndctl.out; }

# counted EVENT RETURN COMMAND...: the clock between two kprobe events.
counted() {
	counted_in=$1 counted_out=$2
	shift 2
	echo >$TRACING/trace
	echo 1 >$TRACING/events/kprobes/enable
	"$@" || return 1
	echo 0 >$TRACING/events/kprobes/enable
	awk -v first="$counted_in:" -v last="$counted_out:" '
		function clock(i) { for (i = 1; i <= NF; i++) if ($i ~ /^[0-9]+:$/) return $i + 0 }
		$0 ~ " " first { from = clock() }
		$0 ~ " " last { sum += clock() - from; n++ }
		END { if (n) printf "%d\n", sum / n; else print "none" }' $TRACING/trace
}
