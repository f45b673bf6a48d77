# SPDX-License-Identifier: GPL-2.0-only
# Bind, use and unbind real drivers on an emulated NVDIMM, with every method.
# Settings: METHODS; BOOT_METHOD: the one on the command line; REBINDS for auto, and
# OTHER_REBINDS for each other method.

. /zone_device/lib.sh
check "zone_device.method=$BOOT_METHOD on the command line" \
	test "$(cat $METHOD)" = "$BOOT_METHOD"
echo "func $INIT +p" >/sys/kernel/debug/dynamic_debug/control

# The kprobe pair must see each call that prints a debug line.
tracing=/sys/kernel/tracing
echo "p:mi $INIT n=%dx:u64" >>$tracing/kprobe_events
echo "r:mo $INIT" >>$tracing/kprobe_events
helping=$(grep -c ' zone_device_help$' /proc/kallsyms)
[ "$helping" = 0 ] || echo "p:mh zone_device_help" >>$tracing/kprobe_events
echo 1 >$tracing/events/kprobes/enable

# use_pmem: write through the block device, and read it back.
use_pmem() {
	dd if=/dev/urandom of=/tmp/block bs=1M count=8 2>/dev/null
	dd if=/tmp/block of=/dev/pmem0 bs=1M count=8 seek=16 conv=fsync 2>/dev/null || return 1
	blockdev --flushbufs /dev/pmem0 || return 1
	dd if=/dev/pmem0 of=/tmp/again bs=1M count=8 skip=16 2>/dev/null || return 1
	cmp /tmp/block /tmp/again
}

use_dax_mount() {
	/bin/mke2fs -q -F -t ext4 -b 4096 /dev/pmem0 >/tmp/mke2fs.out 2>&1 || return 1
	mount -t ext4 -o dax /dev/pmem0 /mnt || return 1
	dd if=/dev/urandom of=/mnt/file bs=1M count=8 2>/dev/null
	map_file /mnt/file $((8 << 20)) || return 1
	umount /mnt || return 1
	mount -t ext4 -o dax /dev/pmem0 /mnt && map_file /mnt/file $((8 << 20)) check
	ended=$?
	umount /mnt || return 1
	return $ended
}

listed() { daxctl list | grep -q '"chardev"'; }

# how_often METHOD: print how often a driver is bound again.
how_often() { [ "$1" = auto ] && echo "$REBINDS" || echo "$OTHER_REBINDS"; }

fsdax() {
	check "fsdax: namespace" namespace -m fsdax -M dev || return
	device=$(bound nd_pmem)
	for method in $METHODS; do
		choose "$method" || continue
		n=$(how_often "$method")
		before=$(initialised)
		check "fsdax: $n rebinds, $method" rebind nd_pmem "$device" "$n"
		check "fsdax: initialised each time, $method" \
			test "$(initialised)" -eq $((before + n))
		check "fsdax: write and read back, $method" use_pmem
		check "fsdax: ext4 with dax, $method" use_dax_mount
	done
}

devdax() {
	check "devdax: namespace" namespace -m devdax -a 2M -M dev || return
	device=$(bound dax_pmem)
	check "devdax: daxctl sees it" listed
	for method in $METHODS; do
		choose "$method" || continue
		n=$(how_often "$method")
		before=$(initialised)
		check "devdax: $n rebinds, $method" rebind dax_pmem "$device" "$n"
		check "devdax: initialised each time, $method" \
			test "$(initialised)" -eq $((before + n))
		check "devdax: mmap, write and read back, $method" \
			map_file "$(ls -d /dev/dax* | head -n 1)" $((8 << 20))
	done
}

# Bind while the other CPU goes away and comes back, so that work items lose theirs.
hotplug() {
	online=/sys/devices/system/cpu/cpu1/online
	[ -e $online ] || return
	choose auto || return
	rm -f /tmp/bound
	(
		turns=0
		while [ ! -e /tmp/bound ]; do
			echo 0 >$online && echo 1 >$online || break
			turns=$((turns + 1))
		done
		echo $turns >/tmp/turns
	) &
	before=$(initialised)
	check "hotplug: $REBINDS rebinds" rebind "$1" "$(bound "$1")" "$REBINDS"
	touch /tmp/bound
	wait
	check "hotplug: initialised each time" \
		test "$(initialised)" -eq $((before + REBINDS))
	check "hotplug: the CPU went and came back ($(cat /tmp/turns) times)" \
		test "$(cat /tmp/turns)" -gt 0 -a "$(cat $online)" = 1
}

fsdax
devdax
hotplug dax_pmem
echo 0 >$tracing/events/kprobes/enable
in=$(grep -c ' mi: ' $tracing/trace)
out=$(grep -c ' mo: ' $tracing/trace)
check "kprobe pair: every call seen to return ($in)" test "$in" -gt 0 -a "$in" -eq "$out"
# Two CPUs write the memmap of 2 GiB or more.
if [ "$helping" != 0 ] && [ "$(pages)" -ge 524288 ]; then
	helped=$(grep -c ' mh: ' $tracing/trace)
	check "other CPUs took part ($helped times)" test "$helped" -gt 0
fi
check "every call prints its debug line" test "$in" -eq "$(initialised)"
choose auto
no_race "zone_device_\|$INIT"
