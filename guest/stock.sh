# SPDX-License-Identifier: GPL-2.0-only
# What the scripts for stock kernels share. Sourced after lib.sh.

. /settings
. /zone_device/lib.sh
MODULE=mmbatch_zone_device
PATCHES=/sys/kernel/livepatch
METHOD=/sys/module/$MODULE/parameters/zone_device.method
CONTROL=/sys/kernel/debug/dynamic_debug/control
IMAGE=/sys/module/memmap_image/parameters/range
MAP=/sys/module/vmap_image/parameters/map
HUGE=/sys/module/vmap_image/parameters/huge
COPY=/sys/module/folio_image/parameters/copy

# The stock kernel's own modules, in the order in which they need each other.
drivers() {
	for name in $DRIVER_MODULES; do
		insmod "/modules/$name.ko" || return 1
	done
	echo "func $INIT +p" >$CONTROL
}

# value_of FILE: its first line, without a process.
value_of() { read -r value <"$1" 2>/dev/null && echo "$value"; }

# patch_in SPEEDUP and patch_out SPEEDUP: to the end of the transition.
patch_in() {
	insmod "/modules/mmbatch_$1.ko" || return 1
	while [ "$(value_of "$PATCHES/mmbatch_$1/transition")" = 1 ]; do sleep 0.1; done
	[ "$(value_of "$PATCHES/mmbatch_$1/enabled")" = 1 ] || return 1
	echo "module mmbatch_$1 +p" >$CONTROL
}

patch_out() {
	echo 0 >"$PATCHES/mmbatch_$1/enabled" || return 1
	while [ -d "$PATCHES/mmbatch_$1" ]; do sleep 0.1; done
	# The kernel gives up the module a moment after the folder.
	tries=0
	until rmmod "mmbatch_$1"; do
		tries=$((tries + 1))
		[ "$tries" -lt 20 ] || return 1
		sleep 0.1
	done
}

# Whether no livepatch is there.
unpatched() { [ -z "$(ls $PATCHES)" ]; }

# patched N: how often ours told that it initialised a memmap; original N: theirs.
patched() { dmesg | grep -c "$MODULE: $INIT initialised [0-9]* pages"; }
original() { dmesg | grep -v "$MODULE: " | grep "$INIT initialised" | grep -vc "initialised 1 pages"; }

# image DRIVER DEVICE: digest of the descriptors of the device's memory.
image() {
	case $1 in
	nd_pmem) folder=/sys/bus/nd/devices/$2 ;;
	*) folder=/sys/bus/dax/devices/$(ls /sys/bus/dax/devices | head -n 1) ;;
	esac
	first=$(($(cat "$folder/resource") / 4096))
	echo "$first $(($(cat "$folder/size") / 4096))" >$IMAGE || return 1
	cat $IMAGE
}
