# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own test_vmalloc, with vmap() in batches and without. Kernels with debugging
# options take long for it, so they run it with batches only. Settings:
# TEST_PARAMETERS of the module, and TEST_SUMMARIES, the number of lines that sum up
# its tests. The module does not stay loaded after its tests, so insmod always fails,
# and may try again in another way. The results are in the kernel's log.

VMAP_METHOD=/sys/module/vmap/parameters/method

summaries() { dmesg | grep -c ' Summary: .* failed: '; }

# all_ended LINES: succeeds if all tests ended, each equally often.
all_ended() { [ "$1" -gt 0 ] && [ $(($1 % TEST_SUMMARIES)) -eq 0 ]; }

# choose_vmap METHOD: succeeds if the kernel accepts the method, and then reports it.
choose_vmap() { echo "$1" >$VMAP_METHOD && [ "$(cat $VMAP_METHOD)" = "$1" ]; }

[ "$KIND" = plain ] && METHODS="base auto" || METHODS=auto
for method in $METHODS; do
	check "vmap takes the method $method" choose_vmap "$method" || continue
	before=$(summaries)
	insmod /modules/test_vmalloc.ko $TEST_PARAMETERS 2>/dev/null
	check "test_vmalloc printed $TEST_SUMMARIES summaries, $method" \
		all_ended $(($(summaries) - before))
done
