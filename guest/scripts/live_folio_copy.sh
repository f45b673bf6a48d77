# SPDX-License-Identifier: GPL-2.0-only
# folio_copy() of a stock kernel, patched while it runs: the same bytes, by each
# method. Sourced after live_start.sh.

COPY_METHOD=/sys/module/mmbatch_folio_copy/parameters/folio_copy.method

# copies ORDER: digest of what both functions left.
copies() { echo "$1" >$COPY && cat $COPY; }

# same_copies: the digests of all orders are those of the kernel's own.
same_copies() {
	for order in 0 1 4 9; do
		[ "$(copies $order)" = "$(cat "/tmp/copy.$order")" ] || return 1
	done
}

# hits: how often ours ran, by a probe.
hits() { awk '$1 == "ours" { print $2 }' $TRACING/kprobe_profile; }

for order in 0 1 4 9; do
	copies $order >/tmp/copy.$order
	check "folio_copy, before: order $order" test -s /tmp/copy.$order
done
check "folio_copy: load" patch_in folio_copy
echo "p:ours mmbatch_folio_copy:live_folio_mc_copy" >>$TRACING/kprobe_events
echo 1 >$TRACING/events/kprobes/ours/enable
for method in base memcpy bulk stream auto; do
	check "folio_copy: method $method" eval "echo $method >$COPY_METHOD"
	check "folio_copy, $method: same bytes" same_copies
done
check "folio_copy: ours ran ($(hits) times)" test "$(hits)" -eq 20
echo 0 >$TRACING/events/kprobes/ours/enable
echo "-:ours" >>$TRACING/kprobe_events
check "folio_copy: unload" patch_out folio_copy
check "folio_copy, after unload: same bytes" same_copies
