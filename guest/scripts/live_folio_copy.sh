# SPDX-License-Identifier: GPL-2.0-only
# folio_copy() of a stock kernel, patched while it runs: the same bytes, by each
# method. Sourced after live_start.sh.

COPY_METHOD=/sys/module/mmbatch_folio_copy/parameters/folio_copy.method
COPIERS="memcpy bulk stream"
PROBED="live_folio_copy live_folio_mc_copy"
for name in $COPIERS; do
	PROBED="$PROBED folio_copy_$name folio_copy_mc_$name"
done

# copies ORDER: digest of what both functions left.
copies() { echo "$1" >$COPY && cat $COPY; }

# same_copies: the digests of all orders are those of the kernel's own.
same_copies() {
	for order in 0 1 4 9; do
		[ "$(copies $order)" = "$(cat "/tmp/copy.$order")" ] || return 1
	done
}

# probe and unprobe: count calls within the module.
probe() {
	for name in $PROBED; do
		echo "p:$name mmbatch_folio_copy:$name" >>$TRACING/kprobe_events || return 1
		echo 1 >$TRACING/events/kprobes/$name/enable || return 1
	done
}

unprobe() {
	for name in $PROBED; do
		echo 0 >$TRACING/events/kprobes/$name/enable
		echo "-:$name" >>$TRACING/kprobe_events || return 1
	done
}

# hits NAME: how often it was called.
hits() { awk -v name="$1" '$1 == name { print $2 }' $TRACING/kprobe_profile; }

# noted: how often each was called so far.
noted() { for name in $PROBED; do echo "$name $(hits $name)"; done; }

# since NAME: how often it was called since that was written to /tmp/noted. Others
# copy too, such as compaction.
since() { echo $(($(hits "$1") - $(awk -v name="$1" '$1 == name { print $2 }' /tmp/noted))); }

# copied METHOD: with four folios for each function, of which three have more than
# one page, what the method names copied these, and no other did.
copied() {
	[ "$(since live_folio_copy)" -ge 4 ] || return 1
	[ "$(since live_folio_mc_copy)" -ge 4 ] || return 1
	for name in $COPIERS; do
		for function in folio_copy_$name folio_copy_mc_$name; do
			ran=$(since $function)
			case "$1 $name" in
			"$name $name" | "auto bulk") [ "$ran" -ge 3 ] || return 1 ;;
			*) [ "$ran" -eq 0 ] || return 1 ;;
			esac
		done
	done
}

for order in 0 1 4 9; do
	copies $order >/tmp/copy.$order
	check "folio_copy, before: order $order" test -s /tmp/copy.$order
done
check "folio_copy: load" patch_in folio_copy
check "folio_copy: probes" probe
for method in base $COPIERS auto; do
	check "folio_copy: method $method" eval "echo $method >$COPY_METHOD"
	noted >/tmp/noted
	check "folio_copy, $method: same bytes" same_copies
	check "folio_copy, $method: that is what copied" copied $method
done
check "folio_copy: probes gone" unprobe
check "folio_copy: unload" patch_out folio_copy
check "folio_copy, after unload: same bytes" same_copies
