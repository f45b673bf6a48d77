# SPDX-License-Identifier: GPL-2.0-only
# Count what binding namespaces takes, without and with the livepatch, and compare three with
# what `live plan` says by a record of counts. Sourced after live/guest/start.sh.

clock
probe_pair $INIT $INIT
value() { tell value "$*" && echo "$*" >>/tmp/values; }

# binds CASE DRIVER OPTION...: make a namespace, and count what binding it takes.
binds() {
	case=$1 driver=$2 before=$(ls "$DRIVERS/$2")
	shift 2
	check "plan: $case" eval "ndctl create-namespace -r region0 -s 4352M $* >/tmp/ndctl.out" || return
	device=$(ls "$DRIVERS/$driver" | grep -E '^(pfn|dax)[0-9]' | grep -v -w -F "$before")
	again "$driver" "$device"
	value "$case items" "$(pages)"
	in_turn zone_device "$case" $INIT again "$driver" "$device"
}

labels() { ndctl disable-region all && ndctl init-labels -f all && ndctl enable-region all; }
check "plan: labels" labels
binds fsdax nd_pmem -m fsdax -M dev
binds devdax-2m dax_pmem -m devdax -a 2M -M dev
binds fsdax-ram nd_pmem -m fsdax -M mem
check "plan: by a record of counts" says "M instructions each time all of these devices" \
	plan zone_device --record /mmbatch/results/zone_device-7.3-icount.json --json /tmp/plan
check "plan: within 20 % of what is counted, or 30 % on another kernel" python3 -c '
import json, os
plan, counts = json.load(open("/tmp/plan")), [line.split() for line in open("/tmp/values")]
within = 0.2 if os.uname().release.startswith("7.3") else 0.3
assert sum(device["now"] is not None for device in plan["devices"]) == 3
for name, variant in ("now", "base"), ("then", "patched"):
    counted = sum({case: int(count) for case, kind, count in counts if kind == variant}.values())
    print(f"{name}: planned {plan[name]:.0f}, counted {counted}")
    assert abs(plan[name] / counted - 1) < within
'
cat /tmp/check.out
binds devdax-2m-ram dax_pmem -m devdax -a 2M -M mem
