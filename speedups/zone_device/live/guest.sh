# SPDX-License-Identifier: GPL-2.0-only
# Functions for guests with a stock kernel: how drivers use device memory, and what
# their memmap holds. Sourced by live/guest/live.sh.

. /zone_device/lib.sh
METHOD=/sys/module/mmbatch_zone_device/parameters/zone_device.method
IMAGE=/sys/module/memmap_image/parameters/range
PRIVATE=/sys/module/private_memory/parameters/bytes

echo "func $INIT +p" >$CONTROL

# patched: print how often our module logged that it initialised a memmap; original:
# print how often the kernel did.
patched() { dmesg | grep -c "mmbatch_zone_device: $INIT initialised [0-9]* pages"; }
original() {
	dmesg | grep -v "mmbatch_zone_device: " | grep "$INIT initialised" |
		grep -vc "initialised 1 pages"
}

# again DRIVER DEVICE: bind it again. "private" stands for device-private memory.
again() {
	case $1 in
	private) echo 0 >$PRIVATE && echo $((256 << 20)) >$PRIVATE ;;
	*) unbind "$1" "$2" && bind "$1" "$2" ;;
	esac
}

# image DRIVER DEVICE: print a digest of the struct pages of the device's memory.
image() {
	case $1 in
	private)
		cat $PRIVATE >$IMAGE && cat $IMAGE
		return
		;;
	nd_pmem) folder=/sys/bus/nd/devices/$2 ;;
	*) folder=/sys/bus/dax/devices/$(ls /sys/bus/dax/devices | head -n 1) ;;
	esac
	first=$(($(cat "$folder/resource") / 4096))
	echo "$first $(($(cat "$folder/size") / 4096))" >$IMAGE || return 1
	cat $IMAGE
}

# zone_device_prepare STAGE: make a namespace, and keep the digest of its memmap.
zone_device_prepare() {
	check "$1: namespace" namespace -m fsdax -M mem
	pmem=$(bound nd_pmem)
	again nd_pmem "$pmem"
	pmem_digest=$(image nd_pmem "$pmem")
	check "$1: digest" test -n "$pmem_digest"
}

zone_device_works() {
	before_works=$(patched)
	again nd_pmem "$pmem" && [ "$(patched)" -eq $((before_works + 1)) ]
}

zone_device_load() {
	while [ ! -e /tmp/stop ]; do
		again nd_pmem "$pmem" || fault "rebind of $pmem"
		sleep 0.1
	done
}

# zone_device_thread: tell module slow what its thread must write, to bind the namespace again.
zone_device_thread() { unbind nd_pmem "$pmem" && echo "file=$DRIVERS/nd_pmem/bind text=$pmem"; }

zone_device_finish() {
	check "$1: bound in the end" test -e "$DRIVERS/nd_pmem/$pmem"
	check "$1: same memmap" test "$(image nd_pmem "$pmem")" = "$pmem_digest"
}
