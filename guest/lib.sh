# SPDX-License-Identifier: GPL-2.0-only
# What the guest's scripts share. Sourced.

DRIVERS=/sys/bus/nd/drivers
METHOD=/sys/module/zone_device/parameters/method
INIT=memmap_init_zone_device

begin() { echo "@@ begin $1 $(cut -d' ' -f1 /proc/uptime)"; }
pass() { echo "@@ pass $*"; }
fail() { echo "@@ fail $*"; }
value() { echo "@@ value $*"; }

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
