# SPDX-License-Identifier: GPL-2.0-only
# The kernel's own test_vmalloc, with vmap() in batches and without. Kernels with debugging
# options take long for it, so they run it with batches only. Settings:
# KIND of the kernel, and TEST_PARAMETERS of the module, which does not stay loaded after
# its tests, so insmod always fails. The results are in the kernel's log, and guest.toml
# lists what must pass.

VMAP_METHOD=/sys/module/vmap/parameters/method

summaries() { dmesg | grep -c ' Summary: .* failed: '; }

# choose_vmap METHOD: succeeds if the kernel accepts the method, and then reports it.
choose_vmap() { echo "$1" >$VMAP_METHOD && [ "$(cat $VMAP_METHOD)" = "$1" ]; }

[ "$KIND" = plain ] && METHODS="base auto" || METHODS=auto
for method in $METHODS; do
	check "vmap takes the method $method" choose_vmap "$method" || continue
	before=$(summaries)
	insmod /modules/test_vmalloc.ko $TEST_PARAMETERS 2>/dev/null
	check "test_vmalloc ran, $method" test "$(summaries)" -gt "$before"
done
