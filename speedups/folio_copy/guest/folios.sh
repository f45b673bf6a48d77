# SPDX-License-Identifier: GPL-2.0-only
# Move large folios from node to node for every reason that the kernel has. Each word
# of them is compared, and the calls that copy them are counted. Settings: MOST_MIB:
# how much moves between the nodes; MIB: how much moves elsewhere; METHODS: methods
# besides base and auto; SLOW: number of a node of a lower tier; CMA_MIB: memory of
# that node for CMA.

. /folio_copy/copies.sh
PARAMETERS=/sys/module/folio_copy/parameters
THP=/sys/kernel/mm/transparent_hugepage
GROUP=/mnt/group

use() { echo "$1" >$PARAMETERS/method; }

# large KIB: use folios of this size for anonymous memory.
large() {
	for size in $THP/hugepages-*kB; do
		[ "$size" = $THP/hugepages-$1kB ] && echo always >$size/enabled || echo never >$size/enabled
	done
}

# moved NAME MEMORY MIB KIB FROM TO EVENT: move memory, and print a row of numbers.
moved() {
	forget
	check "$1: every byte is there" move_folios "$2" "$3" "$4" "$5" to "$6" || return
	read -r folios ms late </tmp/check.out
	copied_by "$1" "$7" $(($3 * 1024 / $4)) $(($4 / 4))
	value "$1: folios $folios"
	value "$1: calls of the copy $(copies_of "$7" $(($4 / 4)))"
	value "$1: ms of move_pages(2) $ms"
	value "$1: us late at worst $late"
}

# The same memory is moved with base and patched, in one boot.
nodes() {
	large 2048
	for method in base auto; do
		use $method
		moved "2M $method" anon "$MOST_MIB" 2048 0 1 "$(by $method)"
	done
	for method in $METHODS; do
		use "$method"
		moved "2M back, $method" anon "$MIB" 2048 1 0 "$(by "$method")"
	done
	large 64
	for method in base auto; do
		use $method
		moved "64K $method" anon "$MIB" 64 0 1 "$(by $method)"
	done
	use auto
}

# Move to slower memory and back.
tiers() {
	large 2048
	use auto
	moved "2M to slow memory" anon "$MIB" 2048 0 "$SLOW" auto
	moved "2M from slow memory" anon "$MIB" 2048 "$SLOW" 0 auto
}

# moved_by NAME EVENT LEAST COMMAND...: check that the kernel itself moves at least
# LEAST folios of 2 MiB while a command runs.
moved_by() {
	moved_name=$1 moved_event=$2 moved_least=$3
	shift 3
	forget
	check "$moved_name: every byte is there" "$@" || return
	copied_by "$moved_name" "$moved_event" "$moved_least" 512
	value "$moved_name: calls of the copy $(copies_of "$moved_event" 512)"
}

in_group() {
	sh -c "echo \$\$ >$GROUP/cgroup.procs"' && exec "$@"' sh "$@"
}

# Reclaim a group's memory. There is no swap, so it goes to slow memory.
demotion() {
	check "demotion: on" sh -c "echo 1 >/sys/kernel/mm/numa/demotion_enabled"
	mount -t cgroup2 cgroup2 /mnt
	echo +memory >/mnt/cgroup.subtree_control
	mkdir $GROUP
	large 2048
	use auto
	moved_by "2M demoted" auto 16 in_group \
		move_folios anon 64 2048 0 run "echo 32M >$GROUP/memory.reclaim"
	rmdir $GROUP
	umount /mnt
	echo 0 >/sys/kernel/mm/numa/demotion_enabled
}

# Memory of other kinds, and other reasons for which folios move.
others() {
	large 2048
	use "$1"
	mount -t tmpfs -o huge=always tmpfs /mnt
	moved "shmem $1" /mnt/file "$MIB" 2048 0 1 "$(by "$1")"
	umount /mnt

	for node in 0 1; do
		echo $((MIB / 2)) >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
	done
	moved "hugetlb $1" hugetlb "$MIB" 2048 0 1 "$(by "$1")"
	for node in 0 1; do
		echo 0 >/sys/devices/system/node/node$node/hugepages/hugepages-2048kB/nr_hugepages
	done

	forget
	check "aio ring $1: no event is lost" move_ring /tmp/file 20 0 1
	# The ring may be at the first node already.
	check "aio ring $1: its pages were copied" test "$(calls plain)" -ge 19

	forget
	check "soft offline $1: every byte is there" move_folios anon "$MIB" 2048 0 soften 8
	check "soft offline $1: pages were copied" test "$(calls page 4096)" -ge $((MIB / 16))

	cma=/sys/kernel/debug/cma/numa$SLOW
	moved_by "CMA $1" "$(by "$1")" 16 move_folios anon 64 2048 "$SLOW" \
		run "echo $((CMA_MIB * 256)) >$cma/alloc && echo $((CMA_MIB * 256)) >$cma/free"
}

# A child writes to page 200 of hugetlb pages that it shares with its parent.
on_write() {
	pool=/sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages
	use "$1"
	echo 34 >$pool
	forget
	check "copy on write $1: every byte is there" write_shared 16 200
	case $1 in
	base)
		check "copy on write $1: not as migration does" test "$(calls mc)" -lt 16
		check "copy on write $1: page by page" test "$(calls page 4096)" -ge 8192
		;;
	*)
		check "copy on write $1: as folios" test "$(calls "$(by "$1")" 512)" -ge 16
		check "copy on write $1: not page by page" test "$(calls page 4096)" -lt 4096
		;;
	esac
	echo 0 >$pool
	use auto
}

check "the functions can be counted" watch_all
nodes
for method in base auto; do
	others $method
	on_write $method
done
tiers
demotion
no_race "copy_mc_\|folio_copy\|folio_mc_copy\|copy_user_large_folio"
