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
