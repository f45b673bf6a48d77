# SPDX-License-Identifier: GPL-2.0-only
# The page table is read from end to end, again and again, while the suite of
# vmap maps and unmaps. Since 7.3 a table is not freed then for a large leaf to
# take its place; so the suite is told to do without. Sourced.

TABLE=/sys/kernel/debug/page_tables/kernel
SUITE=/sys/kernel/debug/kunit/vmap
TABLE_READ=/tmp/table.read

read_forever() {
	while [ ! -e /tmp/stop ]; do
		cat $TABLE >/tmp/table && grep -q 'vmalloc() Area' /tmp/table || echo "$TABLE" >>/tmp/table.faults
		echo again >>$TABLE_READ
	done
}

if [ -e $TABLE ] && [ -e $SUITE/run ]; then
	rm -f /tmp/stop
	touch $TABLE_READ
	read_forever &
	echo Y >/sys/module/vmap_kunit/parameters/beside_readers
	echo again >$SUITE/run
	touch /tmp/stop
	wait
	check "vmap's suite again, beside readers of the page table" grep -q '^ok 1 vmap$' $SUITE/results
	check "the page table was read meanwhile ($(wc -l <$TABLE_READ) times)" \
		test "$(wc -l <$TABLE_READ)" -ge 3
	check "each time it was whole" test ! -e /tmp/table.faults
else
	skip "readers of the page table: this kernel has none, or no suite to run again"
fi
