# SPDX-License-Identifier: GPL-2.0-only
# Let memory come and go, in a guest with a lot of it, and count instructions. Sourced
# after start.sh. Settings: SPEEDUPS, and PLUG: dimm, virtio-mem or dax. All memory that
# can come is offline, because the guest was booted so.

echo x86-tsc >$TRACING/trace_clock

for name in $SPEEDUPS; do
	optional "${name}_plug"
done
