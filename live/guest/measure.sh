# SPDX-License-Identifier: GPL-2.0-only
# Run `mmbatch live measure` in a guest. That shows that it works, and not how fast
# anything is. Sourced after start.sh. Settings: MEASURED, names of speed-ups. For each,
# /measured/NAME has what its measure.toml says: BINDER, the module that is measured, its
# parameter CASE, PARAMETER of the livepatch, BASE and METHODS.

SIZE=$((256 << 20))
BLOCKS=6

# everything: print what a run must leave as it was.
everything() {
	ls $PATCHES
	cut -d ' ' -f 1 /proc/modules | sort
	cat /proc/iomem
}

# measure NAME ARGUMENTS...: measure with the modules of the guest.
measure() {
	if tool measure "$@" --modules /modules --size $SIZE --json /tmp/measure.json \
		>/tmp/printed; then
		cat /tmp/printed >/dev/console
	else
		tail -n 2 /tmp/printed | tr '\n' ' '
		return 1
	fi
}

# rows: print what was measured: a line for each method, with its time, ratio and digest.
rows() {
	python3 -c 'import json
for case in json.load(open("/tmp/measure.json"))["cases"]:
    for each in case["methods"]:
        print(each["method"], each["ns"], each["ratio"], case["digest"])'
}

# has_row METHOD: succeeds if /tmp/rows has it once, with a time, and with a ratio unless it
# is compared with nothing.
has_row() {
	awk -v method="$1" -v base="$BASE" '
		$1 == method && $2 > 0 {
			alone = method == "unpatched" || method == base
			good += alone ? $3 == "None" : $3 > 0
		}
		END { exit good != 1 }' /tmp/rows
}

# bound_digest: bind without the tool, and print the digest of the memmap.
bound_digest() {
	insmod "/modules/$BINDER.ko" digest=Y &&
		echo $SIZE >"/sys/module/$BINDER/parameters/$CASE" &&
		cut -d ' ' -f 3 "/sys/module/$BINDER/parameters/$CASE" &&
		rmmod "$BINDER"
}

# done_by NAME: print how many calls its livepatch did itself.
done_by() { awk '$2 == "done" { n += $3 } END { print n + 0 }' "$(counts_of "$1")"; }

# interrupted NAME: end the tool while it measures. Succeeds if it then ends with an error.
interrupted() {
	python3 -m mmbatch live measure "$1" --modules /modules --size $SIZE --blocks 1000 \
		>/tmp/printed 2>&1 &
	until grep -q " done [1-9]" "$(counts_of "$1")" 2>/dev/null; do
		kill -0 $! || return 1
		sleep 0.2
	done
	kill -TERM $!
	! wait $!
}

for name in $MEASURED; do
	. "/measured/$name"
	chosen=/sys/module/mmbatch_$name/parameters/$name.$PARAMETER
	before=$(everything)

	check "measure: $name" measure "$name" --blocks $BLOCKS
	rows >/tmp/rows
	for method in unpatched "$BASE" control $METHODS; do
		check "measure: $name has a time, $method" has_row "$method"
	done
	check "measure: $name says that it is emulated" grep -q "is emulated" /tmp/printed
	check "measure: $name left nothing" test "$(everything)" = "$before"
	digest=$(bound_digest)
	check "measure: $name took the digest of the kernel's own memmap" \
		test "$(cut -d ' ' -f 4 /tmp/rows | uniq)" = "$digest"

	# The livepatch is there before, with a method, and an earlier run left the module.
	check "measure: load $name" patch_in "$name"
	for method in $METHODS; do
		check "measure: choose $method" eval "echo $method >$chosen"
		calls=$(done_by "$name")
		check "measure: same memmap, $method" test "$(bound_digest)" = "$digest"
		check "measure: ours ran, $method" test "$(done_by "$name")" -eq $((calls + 1))
	done
	calls=$(done_by "$name")
	check "measure: the module $BINDER" insmod "/modules/$BINDER.ko"
	# It calls the method once to compare, once to warm up, and twice in each block. Before,
	# it calls the function once with what is chosen.
	check "measure: $name with ${METHODS%% *}" \
		measure "$name" --method "${METHODS%% *}" --blocks $BLOCKS
	check "measure: the replacement ran in the calls of ${METHODS%% *} only" \
		test "$(done_by "$name")" -eq $((calls + 3 + 2 * BLOCKS))
	check "measure: $name has its method back" test "$(cat "$chosen")" = "$method"
	check "measure: unload $name" patch_out "$name"
	check "measure: $name left nothing, after it was there before" \
		test "$(everything)" = "$before"

	check "measure: $name, and it is interrupted" interrupted "$name"
	check "measure: $name left nothing, after it was interrupted" \
		test "$(everything)" = "$before"
done
