# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own test_vmalloc, with vmap() in batches and without. Sourced.
# From /settings come VMALLOC, its parameters, and VMALLOC_TOLD, how many lines
# sum up its tests. It never stays loaded, so what insmod says is no news, and
# insmod may try another way; what it found is in the kernel's log.

. /settings
VMAP_METHOD=/sys/module/vmap/parameters/method

summaries() { dmesg | grep -c ' Summary: .* failed: '; }

# all_told LINES: all tests, once or each as often as the others.
all_told() { [ "$1" -gt 0 ] && [ $(($1 % VMALLOC_TOLD)) -eq 0 ]; }

# choose_vmap METHOD: whether it is taken, and said to be.
choose_vmap() { echo "$1" >$VMAP_METHOD && [ "$(cat $VMAP_METHOD)" = "$1" ]; }

for method in base auto; do
	check "vmap takes the method $method" choose_vmap "$method" || continue
	before=$(summaries)
	insmod /modules/test_vmalloc.ko $VMALLOC 2>/dev/null
	check "test_vmalloc told how its $VMALLOC_TOLD tests ended, $method" \
		all_told $(($(summaries) - before))
done
