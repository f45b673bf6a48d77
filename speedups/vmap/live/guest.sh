# SPDX-License-Identifier: GPL-2.0-only
# Functions for guests with a stock kernel: mappings of pages, each verified by the
# module vmap_image. Sourced by live/guest/live.sh.

MAP=/sys/module/vmap_image/parameters/map
ORDINARY=/sys/module/vmap_image/parameters/ordinary
HUGE=/sys/module/vmap_image/parameters/huge
IO=/sys/module/vmap_image/parameters/io
PURGE=/sys/module/vmap_image/parameters/purge
NO_MEMORY=265290240 # 0xfd00200, a PFN in a part of the address space that has no memory
NR=2048

# emptied: let huge vmalloc() free the tables of PTEs at the addresses that come next. vmap()
# makes no huge mapping where one was left.
emptied() { echo 1 >$PURGE && echo $NR >$HUGE && echo 0 >$HUGE && echo 1 >$PURGE; }

# mapped ORDER LEAST MOST: map NR pages in blocks of 2^ORDER, with LEAST to MOST huge
# mappings. Others may take the addresses in between, so it may be mapped three times.
mapped() {
	for try in 1 2 3; do
		[ "$2" = 0 ] || emptied || return 1
		echo "$1 $NR" >$MAP || return 1
		huge_mappings=$(cut -d' ' -f2 $MAP)
		[ "$huge_mappings" -lt "$2" ] || break
		[ "$try" = 3 ] || echo 0 0 >$MAP
	done
	[ "$huge_mappings" -ge "$2" ] && [ "$huge_mappings" -le "$3" ] || { cat $MAP; return 1; }
}

# maps ORDER LEAST MOST: do that, and unmap them. The module verifies content and addresses,
# and /proc/kcore must have the same.
maps() {
	mapped "$@" || return 1
	[ ! -e /bin/read_kcore ] || read_kcore $MAP || return 1
	echo 0 0 >$MAP
}

vmap_works() { maps 9 4 4; }

vmalloc_once() { echo "$1" >$ORDINARY && echo 0 >$ORDINARY; }
ioremap_once() { echo "$((NO_MEMORY + 3)) $1" >$IO; }
vmap_once() { echo "$1 $COUNTED_PAGES" >$MAP && echo 0 0 >$MAP; }

# Map blocks, and then pages at the same addresses, where tables of pages are left.
alternate_once() { vmap_once 9 && echo 1 >$PURGE && vmap_once 0 && echo 1 >$PURGE; }

vmap_count() {
	COUNTED_PAGES=25600 # 100 MB
	probe_pair vmap vmap
	for order in -1 4 8 9; do
		value "vmap-order$order items" $COUNTED_PAGES
		vmap_once $order
		in_turn vmap "vmap-order$order" vmap vmap_once $order
	done
	value "vmap-alternate items" $COUNTED_PAGES
	alternate_once
	in_turn vmap vmap-alternate vmap alternate_once
	# The mapping of few pages is too short to be probed by itself.
	probe_pair vmalloc vmalloc_noprof
	value "vmalloc-4-pages-whole items" 4
	in_turn vmap vmalloc-4-pages-whole vmalloc vmalloc_once 4
	# Debian's kernels clear pages when they allocate them, so only the mapping is counted.
	probe_pair mapping __vmap_pages_range_noflush
	for pages in 16 256 2048; do
		value "vmalloc-$pages-pages items" $pages
		in_turn vmap "vmalloc-$pages-pages" mapping vmalloc_once $pages
	done
	probe_pair ioremap ioremap
	value "ioremap-1-page items" 1
	in_turn vmap ioremap-1-page ioremap ioremap_once 1
	value "ioremap-1024-pages items" 1024
	in_turn vmap ioremap-1024-pages ioremap ioremap_once 1024
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
