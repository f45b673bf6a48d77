# SPDX-License-Identifier: GPL-2.0-only
# Read the page table from end to end, again and again, while the suite of vmap
# maps and unmaps. Meanwhile the kernel frees no page table for a huge mapping, so a
# parameter tells the suite not to expect that.

TABLE=/sys/kernel/debug/page_tables/kernel
SUITE=/sys/kernel/debug/kunit/vmap
READERS=/sys/module/vmap_kunit/parameters/beside_readers
TABLE_READ=/tmp/table.read

read_forever() {
	while [ ! -e /tmp/stop ]; do
		cat $TABLE >/tmp/table && grep -q 'vmalloc() Area' /tmp/table || echo "$TABLE" >>/tmp/table.faults
		echo again >>$TABLE_READ
	done
}

# Succeeds if the suite began after it was started. Its lines from boot may be gone.
suite_began() { dmesg | sed "1,\\|$SUITE again|d" | grep -q 'Subtest: vmap$'; }

# Failed cases of the suite's last run, and parameters that were not skipped.
suite_failed() { grep -c 'not ok' $SUITE/results; }
suite_ran() { grep -c '^ *ok [0-9]* auto$' $SUITE/results; }

times_read() { wc -l <$TABLE_READ; }

# Run the suite. Reading takes long with KASAN, because its shadow is in the table
# too. So run it again until one reading has ended, unless a case fails.
suite_beside_readers() {
	for run in 1 2 3; do
		dd if=/proc/version of=$SUITE/run count=1 || return 1
		[ "$(suite_failed)" -eq 0 ] && [ "$(times_read)" -lt 1 ] || return 0
	done
}

if grep -q '^Linux version [1-6]\.' /proc/version; then
	skip "readers of the page table: this kernel frees tables in front of them"
elif [ ! -e $TABLE ] || [ ! -e $SUITE/run ]; then
	skip "readers of the page table: this kernel has none, or no suite to run again"
else
	rm -f /tmp/stop
	touch $TABLE_READ
	echo "$SUITE again" >/dev/kmsg
	read_forever &
	echo Y >$READERS
	check "vmap: the suite can be run again" suite_beside_readers
	echo N >$READERS
	touch /tmp/stop
	wait
	rm /tmp/stop
	check "vmap: the suite ran again" suite_began
	check "vmap: the suite passed beside readers of the page table ($(suite_ran) cases of auto)" \
		test "$(suite_failed)" -eq 0 -a "$(suite_ran)" -ge 12
	check "the page table was read meanwhile ($(times_read) times)" test "$(times_read)" -ge 2
	check "the page table was complete each time" test ! -e /tmp/table.faults
fi
no_race vmap_
