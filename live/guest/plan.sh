# SPDX-License-Identifier: GPL-2.0-only
# Ask `mmbatch live plan` about the devices of a guest, and count the instructions of
# binding them, before and after a speed-up is loaded. Sourced after start.sh. Settings:
# ROUNDS, and SPEEDUPS, of which /records/SPEEDUP.json has counted instructions.
#
# NAME_plan() of a speed-up's live/guest.sh makes devices, calls planned(), and sets the
# values "DEVICE base" and "DEVICE patched" by counts().

clock

# planned SPEEDUP: set the values "DEVICE planned-base" and "DEVICE planned-patched" of each
# device that there is now, and those of "all" of them.
planned() {
	check "plan: $1" says "To gain: " plan "$1" --record "/records/$1.json" \
		--json /tmp/plan.json || return
	cat /tmp/printed
	python3 -c '
import json
plan = json.load(open("/tmp/plan.json"))
for row in [{**plan, "device": "all"}, *plan["devices"]]:
    print(row["device"], "planned-base", row["now"])
    print(row["device"], "planned-patched", row["then"])' >/tmp/planned
	while read -r line; do value "$line"; done </tmp/planned
}

for name in $SPEEDUPS; do
	"${name}_plan"
done
