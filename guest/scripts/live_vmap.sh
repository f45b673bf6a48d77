# SPDX-License-Identifier: GPL-2.0-only
# vmap() of a stock kernel, patched while it runs: every page at its place, by
# each method. Sourced after live_start.sh.

VMAP_METHOD=/sys/module/mmbatch_vmap/parameters/vmap.method
NR=2048

# maps ORDER LEAST MOST: so many leafs; content and addresses are looked at by the
# module itself.
maps() {
	echo "$1 $NR" >$MAP || return 1
	leafs=$(cut -d' ' -f2 $MAP)
	[ "$leafs" -ge "$2" ] && [ "$leafs" -le "$3" ] || { cat $MAP; return 1; }
	echo 0 0 >$MAP
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
check "vmap: held by the kernel's own" held 9
check "vmap: load" patch_in vmap
check "vmap: unmapped by ours" eval 'echo 0 0 >$MAP'
arrays "vmap, patched" 4
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
