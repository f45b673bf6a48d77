# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own test_vmalloc, with vmap() in batches and without. Sourced.
# VMALLOC comes from /settings: its parameters. It never stays loaded, so what
# insmod says is no news; what it found is in the kernel's log.

. /settings
VMAP_METHOD=/sys/module/vmap/parameters/method

summaries() { dmesg | grep -c ' Summary: .* failed: '; }

for method in base auto; do
	echo "$method" >$VMAP_METHOD
	before=$(summaries)
	insmod /modules/test_vmalloc.ko $VMALLOC 2>/dev/null
	check "test_vmalloc told how its tests ended, $method" test "$(summaries)" -gt "$before"
done
