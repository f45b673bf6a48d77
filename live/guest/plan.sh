# SPDX-License-Identifier: GPL-2.0-only
# Print what `mmbatch live plan` says of the devices of a guest. Sourced after tool.sh.
# Settings: SPEEDUPS. A record of counted instructions is in /records/SPEEDUP.json, for
# some speed-ups.
#
# NAME_plan() of a speed-up's live/guest.sh makes a device for each case and calls planned().

# number KEY: print a number of the plan.
number() { sed -n "s/^ \"$1\": \([0-9.]*\),*$/\1/p" /tmp/plan.json; }

# planned SPEEDUP CASE: keep what binding the devices that there are now takes.
planned() {
	if [ ! -e "/records/$1.json" ]; then
		skip "plan: $2: nothing was counted on this kernel"
	elif tool plan "$1" --record "/records/$1.json" --json /tmp/plan.json >/tmp/printed; then
		cat /tmp/printed
		grep '"source"' /tmp/plan.json
		value "$2 planned-base" "$(number now)"
		value "$2 planned-patched" "$(number then)"
	elif grep -q "no measured case" /tmp/printed; then
		skip "plan: $2: a device of this size was not counted"
	else
		fail "plan: $2: $(cat /tmp/printed)"
	fi
}

for name in $SPEEDUPS; do
	optional "${name}_plan"
done
