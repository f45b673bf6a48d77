#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-only
# rebind.sh DRIVER DEVICE METHODS ROUNDS: rebind a device with each method in turns, as root.
# For each bind it prints the method and the milliseconds of memmap_init_zone_device(), as the
# kernel's own message, or that of the livepatch, has them. docs/live-measure.md explains it.
set -eu
driver=$(echo /sys/bus/*/drivers/"$1") device=$2 methods=$3 rounds=$4
method=/sys/module/mmbatch_zone_device/parameters/zone_device.method
control=/sys/kernel/debug/dynamic_debug/control
[ -w "$method" ] || { echo "error: load the livepatch: mmbatch live load zone_device" >&2 && exit 1; }
[ -e "$driver/$device" ] || { echo "error: $device is not bound to $1" >&2 && exit 1; }
before=$(cat "$method")
trap 'echo "$before" >"$method"; [ -e "$driver/$device" ] || echo "$device" >"$driver/bind"' EXIT
trap 'exit 130' INT TERM
echo 'module mmbatch_zone_device +p' >$control
echo 'func memmap_init_zone_device +p' >$control
round=0
while [ "$round" -lt "$rounds" ]; do
	for name in $methods; do
		echo "$name" >"$method"
		echo "$device" >"$driver/unbind"
		echo "rebind $round $name" >/dev/kmsg
		echo "$device" >"$driver/bind"
		# The livepatch calls the kernel's function for its first pages, so the longest counts.
		dmesg | sed -n "/rebind $round $name\$/,\$s/.*initialised \([0-9]*\) pages in \([0-9]*\)ms/\1 \2/p" |
			sort -n | tail -n 1 | { read -r pages ms && echo "$name $ms ms $pages pages"; }
	done
	round=$((round + 1))
done
