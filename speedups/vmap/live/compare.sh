# SPDX-License-Identifier: GPL-2.0-only
# Map pages with the stock kernel, with each method of the patched one, and after
# unload: every page must be at its place. Sourced after live/guest/start.sh.

VMAP_METHOD=/sys/module/mmbatch_vmap/parameters/vmap.method

# ranges NAME: map physical ranges within one page table, across two, and as huge
# mappings, in a part of the address space that has no memory.
ranges() {
	first=$NO_MEMORY
	for range in "$((first + 3)) 1" "$((first + 3)) 256" "$((first + 256)) 1536" \
		"$first 1024" "$first 1100"; do
		check "$1: ioremap of $range" eval "echo $range >$IO"
	done
}

# arrays NAME HUGE: map arrays of blocks. HUGE is the number of huge mappings for blocks
# of the largest order. Smaller blocks may be adjacent by chance.
arrays() {
	check "$1: pages apart" maps -1 0 0
	for order in 0 2 4 8; do
		check "$1: blocks of order $order" maps $order 0 "$2"
	done
	check "$1: blocks of order 9" maps 9 "$2" "$2"
}

# held ORDER HUGE: map pages, with so many huge mappings, and keep them while a
# module comes or goes. let_go HUGE verifies them again and unmaps them, which the
# kernel's own code does, because vunmap() is not replaced.
held() { mapped "$1" "$2" "$2"; }
let_go() { has "$MAP" "$1" && echo 0 0 >$MAP; }

# has FILE HUGE: succeeds if what is mapped there has HUGE huge mappings.
has() { [ "$(cut -d' ' -f2 "$1")" = "$2" ] || { cat "$1"; return 1; }; }

# huge: vmalloc() of as many pages, which uses huge mappings with and without our
# module; huge_held and huge_gone keep and free them.
huge_held() { echo $NR >$HUGE && has "$HUGE" 4; }
huge_gone() { has "$HUGE" 4 && echo 0 >$HUGE; }
huge() { huge_held && huge_gone; }

# ordinary: vmalloc() of as many pages, with PTEs only.
ordinary() { echo $NR >$ORDINARY && has "$ORDINARY" 0 && echo 0 >$ORDINARY; }

# probed NAME COMMAND...: set $hits to how often a function of the module ran.
probed() {
	probe=$1
	shift
	echo "p:$probe mmbatch_vmap:$probe" >>$TRACING/kprobe_events
	echo 1 >$TRACING/events/kprobes/$probe/enable
	"$@"
	hits=$(awk -v name="$probe" '$1 == name { print $2 }' $TRACING/kprobe_profile)
	echo 0 >$TRACING/events/kprobes/$probe/enable
	echo "-:$probe" >>$TRACING/kprobe_events
}

arrays "vmap, before" 0
ranges "vmap, before"
check "vmap, before: huge vmalloc()" huge
check "vmap, before: vmalloc()" ordinary
check "vmap: held, mapped by the kernel's own" held 9 0
check "vmap: vmalloc() held, mapped by the kernel's own" huge_held
check "vmap: load" patch_in vmap
check "vmap: unmapped while ours is in" let_go 0
check "vmap: vmalloc() freed while ours is in" huge_gone
arrays "vmap, patched" 4
probed vmap_live_map_table ranges "vmap, patched"
check "vmap: ours mapped ranges ($hits tables)" test "$hits" -ge 5
for method in base runs pmd auto; do
	expected=4 least=1 most=1000
	case $method in base | runs) expected=0 ;; esac
	case $method in base) least=0 most=0 ;; esac
	check "vmap: method $method" eval "echo $method >$VMAP_METHOD"
	arrays "vmap, $method" $expected
	check "vmap, $method: vmalloc()" ordinary
	probed vmap_walk_pages_noflush check "vmap, $method: huge vmalloc()" huge
	check "vmap, $method: who mapped it (ours $hits times)" \
		eval "[ $hits -ge $least ] && [ $hits -le $most ]"
done
check "vmap: insmod and rmmod, patched" eval \
	"insmod /modules/$SPARE_MODULE.ko && rmmod $SPARE_MODULE"
check "vmap: held, mapped by ours" held 9 4
probed vmap_walk_pages_noflush check "vmap: vmalloc() held" huge_held
check "vmap: ours mapped that" test "$hits" -ge 1
check "vmap: unload" patch_out vmap
check "vmap: huge mappings unmapped after unload" let_go 4
check "vmap: vmalloc() freed after unload" huge_gone
arrays "vmap, after unload" 0
ranges "vmap, after unload"
check "vmap, after unload: huge vmalloc()" huge
check "vmap, after unload: vmalloc()" ordinary
