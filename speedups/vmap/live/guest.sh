# SPDX-License-Identifier: GPL-2.0-only
# Functions for guests with a stock kernel: mappings of pages, each verified by the
# module vmap_image. Sourced by live/guest/lib.sh.

MAP=/sys/module/vmap_image/parameters/map
HUGE=/sys/module/vmap_image/parameters/huge
NR=2048

# maps ORDER LEAST MOST: map NR pages in blocks of 2^ORDER, with LEAST to MOST huge
# mappings. The module verifies content and addresses, and /proc/kcore must have the same.
maps() {
	echo "$1 $NR" >$MAP || return 1
	huge_mappings=$(cut -d' ' -f2 $MAP)
	[ "$huge_mappings" -ge "$2" ] && [ "$huge_mappings" -le "$3" ] || { cat $MAP; return 1; }
	[ ! -e /bin/read_kcore ] || read_kcore $MAP || return 1
	echo 0 0 >$MAP
}

vmap_works() { maps 9 4 4; }

vmap_once() { echo "$1 $COUNTED_PAGES" >$MAP && echo 0 0 >$MAP; }

vmap_count() {
	COUNTED_PAGES=25600 # 100 MB
	probe_pair vmap vmap
	for order in -1 4 8 9; do
		value "vmap-order$order items" $COUNTED_PAGES
		vmap_once $order
		in_turn vmap "vmap-order$order" vmap vmap_once $order
	done
}

# Map arrays of pages and large vmalloc()s, and load a module again and again, because
# the memory of modules is mapped in the same way. /proc/kcore is read meanwhile, also where
# page tables make way for huge mappings.
vmap_load() {
	{ read_kcore $MAP /tmp/stop >/tmp/kcore || fault "/proc/kcore"; } &
	while [ ! -e /tmp/stop ]; do
		for order in 0 4 9; do
			echo "$order 1024" >$MAP || fault "vmap of order $order"
			sleep 0.1
		done
		echo 2048 >$HUGE || fault "vmalloc"
		insmod /modules/$SPARE_MODULE.ko && rmmod $SPARE_MODULE || fault "$SPARE_MODULE"
	done
	echo 0 0 >$MAP || fault "unmapping"
	echo 0 >$HUGE || fault "vfree"
	wait
}

vmap_finish() {
	check "$1: /proc/kcore read meanwhile (pages, and those with a content: $(cat /tmp/kcore))" \
		awk '{ exit !($2 > 0) }' /tmp/kcore
}
