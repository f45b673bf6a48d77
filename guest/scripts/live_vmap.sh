# SPDX-License-Identifier: GPL-2.0-only
# vmap() of a stock kernel, patched while it runs: every page at its place, by
# each method. Sourced after live_start.sh.

VMAP_METHOD=/sys/module/mmbatch_vmap/parameters/vmap.method
IO=/sys/module/vmap_image/parameters/io
NR=2048

# maps ORDER LEAST MOST: so many leafs; content and addresses are looked at by the
# module itself.
maps() {
	echo "$1 $NR" >$MAP || return 1
	leafs=$(cut -d' ' -f2 $MAP)
	[ "$leafs" -ge "$2" ] && [ "$leafs" -le "$3" ] || { cat $MAP; return 1; }
	echo 0 0 >$MAP
}

# ranges NAME: physical ranges in one table, across tables, and in blocks, in a part
# of the address space that has no memory.
ranges() {
	first=265290240 # 0xfd00200
	for range in "$((first + 3)) 1" "$((first + 3)) 256" "$((first + 256)) 1536" \
		"$first 1024" "$first 1100"; do
		check "$1: ioremap of $range" eval "echo $range >$IO"
	done
}

# arrays NAME LEAFS: LEAFS are those of an array of blocks of the largest order.
# Smaller blocks may follow each other by luck.
arrays() {
	check "$1: pages apart" maps -1 0 0
	for order in 0 2 4 8; do
		check "$1: blocks of order $order" maps $order 0 "$2"
	done
	check "$1: blocks of order 9" maps 9 "$2" "$2"
}

# held ORDER: mapped by one, looked at and unmapped by the other.
held() { echo "$1 $NR" >$MAP; }

arrays "vmap, before" 0
ranges "vmap, before"
check "vmap: held by the kernel's own" held 9
check "vmap: load" patch_in vmap
check "vmap: unmapped by ours" eval 'echo 0 0 >$MAP'
arrays "vmap, patched" 4
echo "p:ranges mmbatch_vmap:vmap_map_range" >>$TRACING/kprobe_events
echo 1 >$TRACING/events/kprobes/ranges/enable
ranges "vmap, patched"
hits=$(awk '$1 == "ranges" { print $2 }' $TRACING/kprobe_profile)
check "vmap: ours mapped ranges ($hits tables)" test "$hits" -ge 5
echo 0 >$TRACING/events/kprobes/ranges/enable
echo "-:ranges" >>$TRACING/kprobe_events
for method in base runs pmd detect auto; do
	leafs=4
	case $method in base | runs) leafs=0 ;; esac
	check "vmap: method $method" eval "echo $method >$VMAP_METHOD"
	arrays "vmap, $method" $leafs
done
check "vmap: insmod and rmmod, patched" eval \
	"insmod /modules/$SPARE_MODULE.ko && rmmod $SPARE_MODULE"
check "vmap: held by ours" held 9
check "vmap: unload" patch_out vmap
check "vmap: unmapped by the kernel's own" eval 'echo 0 0 >$MAP'
arrays "vmap, after unload" 0
ranges "vmap, after unload"
