# SPDX-License-Identifier: GPL-2.0-only
# Boot made PAGES pages of 1 GiB. Take them apart: the page allocator then looks at each struct
# page, and the kernel's log has a report of every one that is wrong.

pool=/sys/kernel/mm/hugepages/hugepages-1048576kB

# resize NUMBER: let the pool have so many pages.
resize() {
	echo "$1" >$pool/nr_hugepages
	[ "$(cat $pool/nr_hugepages)" = "$1" ]
}

free_kib() { sed -n 's/^MemFree: *\([0-9]*\) kB/\1/p' /proc/meminfo; }

check "gigantic: boot made $PAGES pages" grep -qx "$PAGES" $pool/nr_hugepages
check "gigantic: all of them are free" grep -qx "$PAGES" $pool/free_hugepages
before=$(free_kib)
check "gigantic: each is given back" resize 0
check "gigantic: their memory is free" test $(($(free_kib) - before)) -gt $((PAGES * 1000000))
