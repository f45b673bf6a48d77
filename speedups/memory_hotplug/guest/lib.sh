# SPDX-License-Identifier: GPL-2.0-only
# Functions for scripts that plug memory. Sourced after /lib.sh.

MEMORY=/sys/devices/system/memory
DAX=/sys/bus/dax
ZONES=/sys/module/zone_scan/parameters/zones

# blocks STATE: print the numbers of the memory blocks in this state, in ascending order.
blocks() {
	grep -lx "$1" $MEMORY/memory*/state | sed 's/.*memory\([0-9]*\).*/\1/' | sort -n
}

online() { echo online_movable >"$MEMORY/memory$1/state"; }
offline() { echo offline >"$MEMORY/memory$1/state"; }

# make_dax: turn the NVDIMM into a devdax.
make_dax() {
	echo offline >$MEMORY/auto_online_blocks || return 1
	ndctl create-namespace -f -e namespace0.0 -m devdax -a 2M -M mem >/tmp/ndctl.out || return 1
	dax=$(ls $DAX/devices | head -n 1)
}

# plug: turn the NVDIMM into memory blocks that are offline.
plug() {
	make_dax || return 1
	echo "$dax" >$DAX/drivers/device_dax/unbind || return 1
	echo "$dax" >$DAX/drivers/kmem/new_id || return 1
	[ -e "$DAX/drivers/kmem/$dax" ] || echo "$dax" >$DAX/drivers/kmem/bind || return 1
	[ -n "$(blocks offline)" ]
}

# unplug: give the memory back to the NVDIMM. All of its blocks are offline.
unplug() {
	echo "$dax" >$DAX/drivers/kmem/unbind || return 1
	echo "$dax" >$DAX/drivers/kmem/remove_id || return 1
	[ -z "$(blocks offline)" ]
}
