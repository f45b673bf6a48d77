#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rebind.sh DRIVER DEVICE METHODS ROUNDS: rebind a device with each method in turns, as root, and
# print the milliseconds of memmap_init_zone_device() that the kernel or the livepatch logs.
# docs/live-measure.md explains it. DRIVER test_hmm: load that module again, whatever DEVICE is.
set -eu
driver=$(echo /sys/bus/*/drivers/"$1") device=$2 methods=$3 rounds=$4
module=/sys/module/mmbatch_zone_device/parameters
method=$module/zone_device.method
[ -w "$method" ] || { echo "error: load the livepatch: mmbatch live load zone_device" >&2 && exit 1; }
bind() { [ -e "$driver/$device" ] || echo "$device" >"$driver/bind"; }
unbind() { echo "$device" >"$driver/unbind"; }
[ "$1" != test_hmm ] || eval 'bind() { modprobe test_hmm; } && unbind() { modprobe -r test_hmm; }'
[ "$1" = test_hmm ] || [ -e "$driver/$device" ] || { echo "error: $device is not bound to $1" >&2 && exit 1; }
before=$(cat "$method")
trap 'echo "$before" >"$method"; bind' EXIT
trap 'exit 130' INT TERM
echo 'module mmbatch_zone_device +p; func memmap_init_zone_device +p' >/sys/kernel/debug/dynamic_debug/control
echo "# zone_device: $1 $device, Linux $(uname -r)"
for round in $(seq "$rounds"); do
	for name in $methods; do
		[ "$name" = control ] && echo base >"$method" || echo "$name" >"$method"
		unbind
		echo "rebind $round $name" >/dev/kmsg
		bind
		# The livepatch calls the kernel's function for its first pages, so the longest counts.
		dmesg | sed -n "/rebind $round $name\$/,\$s/.*initialised \([0-9]*\) pages in \([0-9]*\)ms/\1 \2/p" |
			sort -n | tail -n 1 | { read -r pages ms && echo "$name $ms ms $pages pages"; }
	done
done
! grep -q 'passed [1-9]' $module/counts || grep -q 'failed [1-9]' $module/counts || echo '# proof passed'
