# SPDX-License-Identifier: GPL-2.0-only
# Copy folios with the stock kernel, with each method of the patched kernel, and after
# unload: the bytes must be identical. Sourced after live/guest/start.sh.

COPY_METHOD=/sys/module/mmbatch_folio_copy/parameters/folio_copy.method
COPIERS="bulk stream auto"
PROBED="live_folio_mc_copy"
for name in $COPIERS; do
	PROBED="$PROBED folio_copy_$name"
done

# probe and unprobe: start and stop counting calls within the module.
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

# hits NAME: print how often it was called.
hits() { awk -v name="$1" '$1 == name { print $2 }' $TRACING/kprobe_profile; }

# noted: print how often each was called so far.
noted() { for name in $PROBED; do echo "$name $(hits $name)"; done; }

# since NAME: print how often it was called since /tmp/noted was written. Other code
# copies folios too, such as compaction.
since() { echo $(($(hits "$1") - $(awk -v name="$1" '$1 == name { print $2 }' /tmp/noted))); }

# copied METHOD: check that four folios were copied. Three of these have more than one
# page, and only the function of METHOD must have copied them; auto calls those of bulk
# and stream.
copied() {
	[ "$(since live_folio_mc_copy)" -ge 4 ] || return 1
	for name in $COPIERS; do
		ran=$(since folio_copy_$name)
		case "$1 $name" in
		"$name $name") [ "$ran" -ge 3 ] || return 1 ;;
		"auto bulk" | "auto stream") ;;
		*) [ "$ran" -eq 0 ] || return 1 ;;
		esac
	done
}

for order in 0 1 4 9; do
	copies $order >/tmp/copy.$order
	check "folio_copy, before: order $order" test -s /tmp/copy.$order
done
check "folio_copy: load" patch_in folio_copy
check "folio_copy: probes" probe
for method in base $COPIERS; do
	check "folio_copy: method $method" eval "echo $method >$COPY_METHOD"
	noted >/tmp/noted
	check "folio_copy, $method: same bytes" same_copies
	check "folio_copy, $method: that is what copied" copied $method
done
check "folio_copy: probes gone" unprobe
check "folio_copy: unload" patch_out folio_copy
check "folio_copy, after unload: same bytes" same_copies
